/** A worker that is frozen with work in hand while another one goes on. */
import { of } from '../families/family';
import {
  approvedOnceAsked,
  approvedWish,
  ask,
  factsOf,
  observeRecords,
  refOf,
  stateOf,
} from './actions';
import { becomes, type Proof } from './context';
import { countIn, judgeEvent, liveOf } from './events';
import { inEachLane, postEach } from './vendor';

/** What the frozen one had in hand is given to another one once it is not heard of; on a busy machine, too. */
const TAKEN_OVER_MS = 240_000;

/** It stands where each attempt is open and nothing is sent; awake, where it has tried to close them. */
export const frozenWorker: Proof = async (context) => {
  const { site, judge } = context;
  const [freeze, wake] = context.faults;
  const label = 'frozen';
  const ref = refOf(context, 'acme', label);
  const events = inEachLane(label);
  const frozen = site.node('worker-1');
  const other = site.process('worker-2');
  await Promise.all([frozen.stop(), other.stop()]);
  const points = ['dispatch.opened', 'attempt.opened', 'dispatch.closed', 'attempt.closed'];
  await frozen.startWith({ WAYBILL_HOLD_AT: points.join(',') });
  const approved = approvedOnceAsked(context, ref);
  await ask(context, { ...approvedWish('acme', label), waitMs: 0 });
  await approved;
  await postEach(context, events);
  const standsAt = async (dispatch: string, attempt: string) => {
    await Promise.all([frozen.marker(dispatch), frozen.marker(attempt, events.length)]);
  };
  await standsAt('dispatch.opened', 'attempt.opened');
  if (freeze !== undefined) await context.inflict(freeze);
  await other.start();
  await becomes(
    'the other worker has ended everything',
    async () =>
      (await stateOf(context, ref)) === 'completed' &&
      (await countIn(context, events, 'Acknowledged')) === events.length,
    TAKEN_OVER_MS,
  );
  context.observe('state of the action while it is frozen', await stateOf(context, ref));
  for (const event of events) {
    const [delivery] = await liveOf(context, event);
    const what = of(event.lane, 'state of the delivery while it is frozen');
    context.observe(what, delivery?.state ?? 'none');
  }
  const before = [...(await judge.attempts(ref)), ...(await liveOf(context, ...events))];
  frozen.goOn();
  if (wake !== undefined) await context.inflict(wake);
  await standsAt('dispatch.closed', 'attempt.closed');
  const after = [...(await judge.attempts(ref)), ...(await liveOf(context, ...events))];
  const changed = after.filter((one, no) => JSON.stringify(one) !== JSON.stringify(before[no]));
  context.observe('attempts of all that it could still close', changed.length);
  frozen.goOn();
  const facts = await factsOf(context, ref);
  context.observe(of('action', 'state once it is awake'), facts.state);
  context.observe(of('action', 'replicas that it was sent to'), facts.replicas);
  context.observe(of('action', 'open attempts'), facts.openAttempts);
  await observeRecords(context, ref, (what) => of('action', what));
  for (const event of events) await judgeEvent(context, event, (what) => of('delivery', what));
  context.observe('counters that differ from the open attempts', await judge.wrongCounters());
};
