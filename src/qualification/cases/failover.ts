/** Gateways and hosts that stop, die and come back. */
import { LEASE_MS } from '../site/fleet';
import { factsOf, read, refOf, stateOf } from './actions';
import { becomes, replicaReady, type Proof } from './context';

const ACCOUNT = { tenant: 'acme', account: 'acme-tickets' } as const;
const FIRST = 'acme-tickets-1';
const SECOND = 'acme-tickets-2';
const SWEEP_PATIENCE_MS = 20_000;

/** The same signed read before and after: the second time it meets the action that is there. */
export const gatewayFailover: Proof = async (context) => {
  const [stop] = context.faults;
  const wish = { ...ACCOUNT, via: 'gateway-1' } as const;
  const before = await read(context, { ...wish, label: 'gateway-before' });
  if (stop !== undefined) await context.inflict(stop);
  const again = await read(context, { ...wish, label: 'gateway-before' });
  const fresh = await read(context, { ...wish, label: 'gateway-after' });
  context.observe('gateway before', before.gateway ?? 'none');
  context.observe('gateway of the same call', again.gateway ?? 'none');
  context.observe('gateway of the next', fresh.gateway ?? 'none');
  for (const label of ['gateway-before', 'gateway-after']) {
    const state = await stateOf(context, refOf(context, 'acme', label));
    context.observe(`state of ${label}`, state);
  }
  await context.site.process('gateway-1').start();
};

export const gracefulFailover: Proof = async (context) => {
  const [stop] = context.faults;
  if (stop !== undefined) await context.inflict(stop);
  context.observe('status of the stopped replica', (await context.judge.replica(SECOND)).status);
  await read(context, { ...ACCOUNT, label: 'graceful' });
  const facts = await factsOf(context, refOf(context, 'acme', 'graceful'));
  context.observe('state of the read', facts.state);
  context.observe('replica of its route', facts.replica ?? 'none');
};

export const leaseExpiry: Proof = async (context) => {
  const [kill] = context.faults;
  context.shared.set('incarnation', (await context.judge.replica(FIRST)).incarnation);
  if (kill !== undefined) await context.inflict(kill);
  await becomes(
    'the lease has run out',
    async () => !(await context.judge.replica(FIRST)).leased,
    LEASE_MS + SWEEP_PATIENCE_MS,
  );
  await read(context, { ...ACCOUNT, label: 'lease-expired', deadlineMs: 3_000 });
  const facts = await factsOf(context, refOf(context, 'acme', 'lease-expired'));
  context.observe('state of the read', facts.state);
  context.observe('its error code', facts.errorCode ?? 'none');
  context.observe('routes that it was given', facts.routes);
  await becomes(
    'the registry says offline',
    async () => (await context.judge.replica(FIRST)).status === 'offline',
    SWEEP_PATIENCE_MS,
  );
  context.observe('status of the killed replica', (await context.judge.replica(FIRST)).status);
};

/** Afterwards all four replicas are there again. */
export const hostRecovery: Proof = async (context) => {
  const [start] = context.faults;
  if (start !== undefined) await context.inflict(start);
  await replicaReady(context, FIRST);
  const { status, incarnation } = await context.judge.replica(FIRST);
  context.observe('status of the replica', status);
  context.observe('incarnations since', incarnation - Number(context.shared.get('incarnation')));
  await read(context, { ...ACCOUNT, label: 'host-recovered' });
  const facts = await factsOf(context, refOf(context, 'acme', 'host-recovered'));
  context.observe('state of the read', facts.state);
  context.observe('replica of its route', facts.replica ?? 'none');
  await context.site.process(`host-${SECOND}`).start();
  await replicaReady(context, SECOND);
};
