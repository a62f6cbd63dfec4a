/**
 * A host is killed while it stands at a durable boundary of an execution, comes back, and the same call is
 * made again. A second host of the account is ready all the while: nothing may move there.
 */
import { request } from 'undici';
import { z } from 'zod';
import { inWindow } from '../families';
import type { CrashBoundary, Fault } from '../faults';
import { stateInStore } from '../judging/host-stores';
import type { ActionOfTenant } from '../judging/judge';
import { localUrl } from '../site/plans';
import { HOSTS } from '../site/topology';
import { ask, factsOf, observeRecords, refOf, type Wish } from './actions';
import { becomes, replicaReady, type CaseContext, type Proof } from './context';

const PEER = 'acme-tickets-2';
const DOOMED = 'acme-tickets-1';
const RETRY_WAIT_MS = 15_000;
const RETRIES = 5;

type Crash = Extract<Fault, { kind: 'crash' }>;

export const crashWindows: Proof = async (context) => {
  const crashes = context.faults.filter((fault): fault is Crash => fault.kind === 'crash');
  for (const crash of crashes) await crashWindow(context, crash);
};

async function crashWindow(context: CaseContext, crash: Crash): Promise<void> {
  const { boundary } = crash;
  const { site, judge } = context;
  const observe = (what: string, actual: string | number) => {
    context.observe(inWindow(boundary, what), actual);
  };
  const ref = refOf(context, 'acme', `crash-${boundary}`);
  const interrupted = await bringTo(context, boundary);
  const effects = await judge.effects(ref.actionId);
  observe('provider effects when it was killed', effects);
  await site.process(`host-${PEER}`).start();
  await replicaReady(context, PEER);
  await site.process(crash.process).kill();
  await context.inflict(crash);
  const stored = storedAtDoomed(context, ref);
  observe('record in its store when it was killed', stored);
  context.keep(`crash/${boundary}/checkpoint.json`, {
    ...{ boundary, ...ref, replica: DOOMED, marker: interrupted.marker, at: interrupted.at },
    ...{ interruptedAnswer: interrupted.answer, providerEffects: effects, storeRecord: stored },
  });
  await releaseProvider(context);
  await site.process(crash.process).start();
  await retry(context, boundary);
  const facts = await factsOf(context, ref);
  observe('state after the retry', facts.state);
  observe('replicas that it was sent to', facts.replicas);
  observe('open attempts', facts.openAttempts);
  observe('counters that differ from them', await judge.wrongCounters());
  await observeRecords(context, ref, (what) => inWindow(boundary, what));
  context.keep(`crash/${boundary}/result.json`, { facts, receipts: await judge.receipts(ref) });
}

interface Interrupted {
  readonly marker: string;
  readonly at: string;
  readonly answer: unknown;
}

/** Only the doomed host is up, and stands where it is told with the action on it. */
async function bringTo(context: CaseContext, boundary: CrashBoundary): Promise<Interrupted> {
  const doomed = context.site.node(`host-${DOOMED}`);
  await Promise.all([context.site.process(`host-${PEER}`).stop(), doomed.stop()]);
  const atProvider = boundary === 'provider_effect_committed';
  await doomed.startWith(atProvider ? {} : { WAYBILL_HOLD_AT: boundary });
  await replicaReady(context, DOOMED);
  if (atProvider) await holds(context, 'PUT', { count: 1 });
  const { status, body } = await ask(context, { ...wishOf(boundary), waitMs: 0 });
  const marker = atProvider ? await heldByProvider(context) : await doomed.marker(boundary);
  return { marker, at: new Date().toISOString(), answer: { status, body } };
}

function wishOf(boundary: CrashBoundary): Wish {
  return {
    ...{ tenant: 'acme', label: `crash-${boundary}`, capability: 'tickets.create' },
    request: { title: `Killed at ${boundary}` },
  };
}

/** The same call with the same id until it is closed; each try is kept. */
async function retry(context: CaseContext, boundary: CrashBoundary): Promise<void> {
  const tries: unknown[] = [];
  for (let no = 1; no <= RETRIES; no += 1) {
    const answer = await ask(context, { ...wishOf(boundary), waitMs: RETRY_WAIT_MS });
    tries.push({ no, at: new Date().toISOString(), status: answer.status, answer: answer.body });
    context.keep(`crash/${boundary}/retries.json`, tries);
    if (answer.status === 200) return;
  }
}

function storedAtDoomed(context: CaseContext, ref: ActionOfTenant): string {
  const host = HOSTS.find(({ replica }) => replica === DOOMED);
  if (host === undefined) throw new Error(`there is no host ${DOOMED}`);
  return stateInStore(context.site.ground.workspace, host, ref);
}

const Holds = z.object({ left: z.number(), held: z.number() });

async function heldByProvider(context: CaseContext): Promise<string> {
  let marker = '';
  await becomes('the provider stands still after its commit', async () => {
    const state = await holds(context, 'GET');
    marker = JSON.stringify(state);
    return state.held === 1;
  });
  return marker;
}

async function releaseProvider(context: CaseContext): Promise<void> {
  await holds(context, 'DELETE');
}

/** The provider's control: whether it stands still between an effect and its answer. */
async function holds(
  { site }: CaseContext,
  method: 'GET' | 'PUT' | 'DELETE',
  body?: object,
): Promise<z.infer<typeof Holds>> {
  const response = await request(`${localUrl(site.ports, 'provider')}/control/holds`, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return Holds.parse(await response.body.json());
}
