/** A credential revision is revoked, and restored. */
import { statusAndCode } from '../client';
import { factsOf, read, recordOf, refOf, stateOf } from './actions';
import { becomes, replicaReady, type CaseContext, type Proof } from './context';

const ACCOUNT = 'globex-tickets';
const TENANT = 'globex';

/** One read waits for a host while the revision is revoked, another one is asked for afterwards. */
export const credentialRevocation: Proof = async (context) => {
  const [stop, publish] = context.faults;
  const waiting = refOf(context, TENANT, 'revoked-while-waiting');
  if (stop !== undefined) await context.inflict(stop);
  await readIt(context, 'revoked-while-waiting', 0);
  await becomes('it waits for a host', async () => {
    return (await factsOf(context, waiting)).reason?.startsWith('replica_unavailable') === true;
  });
  if (publish !== undefined) await context.inflict(publish);
  const readsBefore = await context.judge.recordReads(recordOf(ACCOUNT), null);
  const answer = await readIt(context, 'revoked-credential');
  await becomes('the waiting read is over', async () => {
    return ['failed', 'completed'].includes(await stateOf(context, waiting));
  });
  const reads = await context.judge.recordReads(recordOf(ACCOUNT), null);
  context.observe('answer to the read', statusAndCode(answer));
  context.observe('actions stored of it', await storedOf(context, 'revoked-credential'));
  context.observe('end of the read that waited', (await factsOf(context, waiting)).state);
  context.observe('its error code', (await factsOf(context, waiting)).errorCode ?? 'none');
  context.observe('reads at the provider since', reads - readsBefore);
};

export const credentialRestore: Proof = async (context) => {
  const [publish, start] = context.faults;
  const before = await context.judge.catalogRevision();
  if (publish !== undefined) await context.inflict(publish);
  context.observe(
    'revisions of the catalog that it took',
    (await context.judge.catalogRevision()) - before,
  );
  if (start !== undefined) await context.inflict(start);
  await replicaReady(context, 'globex-tickets-1');
  await readIt(context, 'revoked-credential');
  const ref = refOf(context, TENANT, 'revoked-credential');
  context.observe('state of the read', await stateOf(context, ref));
};

function readIt(context: CaseContext, label: string, waitMs?: number) {
  const wish = { tenant: TENANT, account: ACCOUNT, label } as const;
  return read(context, waitMs === undefined ? wish : { ...wish, waitMs });
}

async function storedOf(context: CaseContext, label: string): Promise<number> {
  return (await context.judge.action(refOf(context, TENANT, label))) === null ? 0 : 1;
}
