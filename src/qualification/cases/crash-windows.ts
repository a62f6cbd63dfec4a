/**
 * A host is killed while it stands at a durable boundary of an execution, comes back, and the same call is
 * made again. A second host of the account is ready all the while: nothing may move there.
 */
import { stateInStore } from '../judging/host-stores';
import type { ActionOfTenant } from '../judging/judge';
import { HOSTS } from '../site/topology';
import { approvedWish, ask, refOf, type Wish } from './actions';
import { replicaReady, type CaseContext, type Proof } from './context';
import { heldByProvider, holds } from './provider-holds';
import { crashesOf, CrashWindow, type Crash } from './windows';

const PEER = 'acme-tickets-2';
const DOOMED = 'acme-tickets-1';

export const crashWindows: Proof = async (context) => {
  for (const crash of crashesOf(context)) await crashWindow(context, crash);
};

async function crashWindow(context: CaseContext, crash: Crash): Promise<void> {
  const { site, judge } = context;
  const window = new CrashWindow(context, crash.boundary);
  const wish = approvedWish('acme', `crash-${crash.boundary}`, `Killed at ${crash.boundary}`);
  const ref = refOf(context, wish.tenant, wish.label);
  window.approve(ref);
  const marker = await bringTo(context, window, wish);
  const effects = await judge.effects(ref.actionId);
  await site.process(`host-${PEER}`).start();
  await replicaReady(context, PEER);
  await context.inflict(crash);
  window.checkpoint(marker, {
    'record in its store when it was killed': storedAtDoomed(context, ref),
    'provider effects when it was killed': effects,
  });
  await holds(context, 'DELETE');
  await site.process(crash.process).start();
  await window.retryAction(wish);
  await window.judgeAction(ref);
}

/** Only the doomed host is up, and stands where it is told with the action on it; answers the marker. */
async function bringTo(context: CaseContext, window: CrashWindow, wish: Wish): Promise<string> {
  const doomed = context.site.node(`host-${DOOMED}`);
  await Promise.all([context.site.process(`host-${PEER}`).stop(), doomed.stop()]);
  const atProvider = window.boundary === 'provider_effect_committed';
  // Held at the provider it waits as long as it takes until it is killed.
  const patient = { WAYBILL_HOST_PROVIDER_TIMEOUT: '5m' };
  await doomed.startWith(atProvider ? patient : { WAYBILL_HOLD_AT: window.boundary });
  await replicaReady(context, DOOMED);
  if (atProvider) await holds(context, 'PUT', { count: 1 });
  const { status, body } = await ask(context, { ...wish, waitMs: 0 });
  window.tried(status, body);
  return atProvider ? await heldByProvider(context) : await doomed.marker(window.boundary);
}

function storedAtDoomed(context: CaseContext, ref: ActionOfTenant): string {
  const host = HOSTS.find(({ replica }) => replica === DOOMED);
  if (host === undefined) throw new Error(`there is no host ${DOOMED}`);
  return stateInStore(context.site.ground.workspace, host, ref);
}
