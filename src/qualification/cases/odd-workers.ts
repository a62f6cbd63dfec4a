/** A worker that is frozen while others go on, and one whose clock is not everybody's. */
import { CLOCK_ACTIONS } from '../families/odd-workers';
import { of } from '../families/family';
import {
  APPROVED_CAPABILITY,
  approvedOnceAsked,
  ask,
  askApproved,
  factsOf,
  observeRecords,
  refOf,
  stateOf,
  type Wish,
} from './actions';
import { becomes, type CaseContext, type Proof } from './context';
import { eachIn, judgeEvent, liveOf } from './events';
import { heldByProvider, holds } from './provider-holds';
import { postUntilTaken } from './vendor';

/** What the frozen one had in hand is given to another one once it is not heard of; on a busy machine, too. */
const TAKEN_OVER_MS = 240_000;

/** It stands where both attempts are open and nothing is sent; awake, where it has tried to close them. */
export const frozenWorker: Proof = async (context) => {
  const { site, judge } = context;
  const [freeze, wake] = context.faults;
  const label = 'frozen';
  const ref = refOf(context, 'acme', label);
  const frozen = site.node('worker-1');
  const other = site.process('worker-2');
  await Promise.all([frozen.stop(), other.stop()]);
  const points = ['dispatch.opened', 'attempt.opened', 'dispatch.closed', 'attempt.closed'];
  await frozen.startWith({ WAYBILL_HOLD_AT: points.join(',') });
  const approved = approvedOnceAsked(context, ref);
  await ask(context, { ...wishOf(label), waitMs: 0 });
  await approved;
  await postUntilTaken(context, label);
  await Promise.all([frozen.marker('dispatch.opened'), frozen.marker('attempt.opened')]);
  if (freeze !== undefined) await context.inflict(freeze);
  await other.start();
  await becomes(
    'the other worker has ended both',
    async () =>
      (await stateOf(context, ref)) === 'completed' &&
      (await liveOf(context, label))[0]?.state === 'Acknowledged',
    TAKEN_OVER_MS,
  );
  context.observe('state of the action while it is frozen', await stateOf(context, ref));
  const [delivery] = await liveOf(context, label);
  context.observe('state of the delivery while it is frozen', delivery?.state ?? 'none');
  const before = [...(await judge.attempts(ref)), await liveOf(context, label)];
  frozen.goOn();
  if (wake !== undefined) await context.inflict(wake);
  await Promise.all([frozen.marker('dispatch.closed'), frozen.marker('attempt.closed')]);
  const after = [...(await judge.attempts(ref)), await liveOf(context, label)];
  const changed = after.filter((one, no) => JSON.stringify(one) !== JSON.stringify(before[no]));
  context.observe('attempts of both that it could still close', changed.length);
  frozen.goOn();
  const facts = await factsOf(context, ref);
  context.observe(of('action', 'state once it is awake'), facts.state);
  context.observe(of('action', 'replicas that it was sent to'), facts.replicas);
  context.observe(of('action', 'open attempts'), facts.openAttempts);
  await observeRecords(context, ref, (what) => of('action', what));
  await judgeEvent(context, label, (what) => of('delivery', what));
  context.observe('counters that differ from the open attempts', await judge.wrongCounters());
};

/** Alone with everything that is to be done: while the provider has not answered its clock jumps, and back. */
export const clockJump: Proof = async (context) => {
  const { site, judge } = context;
  const [ahead, back] = context.faults;
  const [first, second, third] = CLOCK_ACTIONS;
  const worker = site.node('worker-1');
  await Promise.all([worker.stop(), site.process('worker-2').stop()]);
  worker.useClock();
  await worker.start();
  await holds(context, 'PUT', { count: 1 });
  const underWay = askApproved(context, wishOf(labelOf(first)));
  await heldByProvider(context);
  if (ahead !== undefined) await context.inflict(ahead);
  await holds(context, 'DELETE');
  await underWay;
  await postUntilTaken(context, labelOf(second));
  await askApproved(context, wishOf(labelOf(second)));
  await eachIn(context, [labelOf(second)], 'Acknowledged');
  if (back !== undefined) await context.inflict(back);
  await postUntilTaken(context, labelOf(third));
  await askApproved(context, wishOf(labelOf(third)));
  await eachIn(context, [labelOf(third)], 'Acknowledged');
  for (const name of CLOCK_ACTIONS) await judgeAround(context, name);
  const events = await Promise.all([second, third].map((name) => liveOf(context, labelOf(name))));
  const deliveries = events.flat();
  const acknowledged = deliveries.filter(({ state }) => state === 'Acknowledged').length;
  context.observe('deliveries that were acknowledged', acknowledged);
  const attempts = deliveries.reduce((sum, one) => sum + one.attempts, 0);
  context.observe('attempts that they took', attempts);
  context.observe('counters that differ from the open attempts', await judge.wrongCounters());
  await worker.stop();
  worker.useNoClock();
  await Promise.all([worker.start(), site.process('worker-2').start()]);
};

async function judgeAround(context: CaseContext, name: string): Promise<void> {
  const ref = refOf(context, 'acme', labelOf(name));
  const facts = await factsOf(context, ref);
  context.observe(of(name, 'state'), facts.state);
  context.observe(of(name, 'attempts'), facts.attempts);
  context.observe(of(name, 'open attempts'), facts.openAttempts);
  await observeRecords(context, ref, (what) => of(name, what));
}

function labelOf(name: string): string {
  return `clock-${name.replaceAll(' ', '-')}`;
}

function wishOf(label: string): Wish {
  return {
    ...{ tenant: 'acme', label, capability: APPROVED_CAPABILITY },
    request: { title: `Of ${label}` },
  };
}
