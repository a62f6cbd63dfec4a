/** The database that everybody shares is gone, and comes back. */
import { statusAndCode } from '../client';
import { GATEWAYS, SERVING } from '../site/topology';
import { ask, read, refOf, stateOf } from './actions';
import { becomes, type CaseContext, type Proof } from './context';

const READY_PATIENCE_MS = 90_000;

export const databaseOutage: Proof = async (context) => {
  const [stop] = context.faults;
  context.shared.set('pids', pidsOf(context));
  if (stop !== undefined) await context.inflict(stop);
  for (const gateway of GATEWAYS) {
    const answer = await ask(context, {
      ...{ tenant: 'acme', label: `outage-${gateway}`, via: gateway, waitMs: 0 },
      ...{ capability: 'tickets.create', request: { title: 'While the database is gone' } },
    });
    context.observe(`answer of ${gateway}`, statusAndCode(answer));
  }
  const lifecycle = context.site.node('lifecycle');
  await becomes('the lifecycle service says so', async () => !(await lifecycle.answers()), 20_000);
  context.observe('the lifecycle service is ready', await lifecycle.answers());
};

export const databaseRecovery: Proof = async (context) => {
  const [start] = context.faults;
  if (start !== undefined) await context.inflict(start);
  await becomes(
    'every process is ready',
    async () => (await ready(context)) === SERVING.length,
    READY_PATIENCE_MS,
  );
  context.observe('processes that are ready again', await ready(context));
  await becomes(
    'four replicas are ready',
    async () => (await context.judge.readyReplicas()) === 4,
    READY_PATIENCE_MS,
  );
  context.observe('ready replicas with a lease', await context.judge.readyReplicas());
  await read(context, { tenant: 'acme', account: 'acme-tickets', label: 'database-recovered' });
  const ref = refOf(context, 'acme', 'database-recovered');
  context.observe('state of the read', await stateOf(context, ref));
  let stored = 0;
  let effects = 0;
  for (const gateway of GATEWAYS) {
    const lost = refOf(context, 'acme', `outage-${gateway}`);
    if ((await context.judge.action(lost)) !== null) stored += 1;
    effects += await context.judge.effects(lost.actionId);
  }
  context.observe('actions of the outage that were stored', stored);
  context.observe('provider effects of the outage', effects);
  const before = context.shared.get('pids') as ReturnType<typeof pidsOf>;
  const now = pidsOf(context);
  const replaced = SERVING.filter(
    (name) => before[name] === undefined || before[name] !== now[name],
  );
  context.observe('processes that were replaced', replaced.length);
};

function pidsOf({ site }: CaseContext): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries(SERVING.map((name) => [name, site.process(name).pid]));
}

async function ready({ site }: CaseContext): Promise<number> {
  const answers = await Promise.all(SERVING.map((name) => site.node(name).answers()));
  return answers.filter(Boolean).length;
}
