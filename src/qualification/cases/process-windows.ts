/** Workers and gateways are killed at boundaries of an action; another one of their kind takes over. */
import { approvedWish, ask, factsOf, refOf, type Wish } from './actions';
import { becomes, type CaseContext, type Proof } from './context';
import { crashesOf, CrashWindow, type Crash } from './windows';

/** Holds its place in the counters of its tenant while others come and go. */
const SLOW: Wish = {
  ...{ tenant: 'acme', label: 'slow', capability: 'reports.build', waitMs: 0 },
  request: { title: 'All the while', durationMs: 300_000 },
};

/** Only the doomed worker is there until it stands; then the other one is started, and it is killed. */
export const workerCrashWindows: Proof = async (context) => {
  for (const crash of crashesOf(context)) await workerWindow(context, crash);
};

async function workerWindow(context: CaseContext, crash: Crash): Promise<void> {
  const { site, judge } = context;
  const window = new CrashWindow(context, crash.boundary);
  const wish = wishOf(crash);
  const ref = refOf(context, wish.tenant, wish.label);
  const doomed = site.node('worker-1');
  const heir = site.process('worker-2');
  await Promise.all([doomed.stop(), heir.stop()]);
  await doomed.startWith({ WAYBILL_HOLD_AT: crash.boundary });
  window.approve(ref);
  const first = await ask(context, { ...wish, waitMs: 0 });
  window.tried(first.status, first.body);
  const marker = await doomed.marker(crash.boundary);
  await heir.start();
  await context.inflict(crash);
  window.checkpoint(marker, {
    'state when it was killed': (await factsOf(context, ref)).state,
    'provider effects when it was killed': await judge.effects(ref.actionId),
  });
  await window.retryAction(wish);
  await window.judgeAction(ref);
  await doomed.start();
}

/** The call stands in the gateway that is killed; the same call goes to the other one. */
export const gatewayCrashWindows: Proof = async (context) => {
  const slow = refOf(context, SLOW.tenant, SLOW.label);
  await ask(context, SLOW);
  await becomes('the slow action is sent', async () => {
    return (await factsOf(context, slow)).openAttempts === 1;
  });
  for (const crash of crashesOf(context)) await gatewayWindow(context, crash);
  await context.client.call({
    ...{ tenant: SLOW.tenant, method: 'POST', path: `/v1/actions/${slow.actionId}/cancel` },
    body: { reason: 'its part is over' },
  });
  await becomes('the slow action is over', async () => {
    return (await factsOf(context, slow)).openAttempts === 0;
  });
};

async function gatewayWindow(context: CaseContext, crash: Crash): Promise<void> {
  const { site, judge } = context;
  const window = new CrashWindow(context, crash.boundary);
  const wish = wishOf(crash);
  const ref = refOf(context, wish.tenant, wish.label);
  const doomed = site.node('gateway-1');
  await doomed.stop();
  await doomed.startWith({ WAYBILL_HOLD_AT: crash.boundary });
  window.approve(ref);
  const first = ask(context, { ...wish, waitMs: 0, via: 'gateway-1' });
  const marker = await doomed.marker(crash.boundary);
  const stored = (await judge.action(ref)) === null ? 0 : 1;
  await context.inflict(crash);
  window.checkpoint(marker, { 'actions stored when it was killed': stored });
  const { status, body } = await first;
  window.tried(status, body);
  await window.retryAction({ ...wish, via: 'gateway-2' });
  await window.judgeAction(ref);
  const slow = await factsOf(context, refOf(context, SLOW.tenant, SLOW.label));
  window.observe('attempts that are open meanwhile', slow.openAttempts);
  await doomed.start();
}

function wishOf({ boundary, process }: Crash): Wish {
  return approvedWish('acme', `crash-${boundary}`, `${process} killed at ${boundary}`);
}
