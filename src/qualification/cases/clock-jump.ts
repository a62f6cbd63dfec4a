/** A process whose clock is not everybody's: a worker, and then a gateway. */
import { LANES } from '../../domain/lanes';
import { statusAndCode } from '../client';
import { of } from '../families/family';
import { CLOCK_ACTIONS } from '../families/odd-processes';
import { approvedWish, askApproved, observeAction, refOf } from './actions';
import type { CaseContext, Proof } from './context';
import { eachIn, observeSeveral } from './events';
import { heldByProvider, holds } from './provider-holds';
import { inEachLane, postEach, postOnce } from './vendor';

/** Alone with everything that is to be done: while the provider has not answered the worker's clock jumps, and back. */
export const clockJump: Proof = async (context) => {
  const { site } = context;
  const [ahead, back, gatewayAhead, gatewayBack] = context.faults;
  const odd = [site.node('worker-1'), site.node('gateway-1')];
  await Promise.all([...odd.map((one) => one.stop()), site.process('worker-2').stop()]);
  for (const one of odd) one.useClock();
  await Promise.all(odd.map((one) => one.start()));
  const [underWay, workerAhead, workerBack] = CLOCK_ACTIONS.worker;
  await holds(context, 'PUT', { count: 1 });
  const answered = askApproved(context, approvedWish('acme', labelOf(underWay)));
  await heldByProvider(context);
  if (ahead !== undefined) await context.inflict(ahead);
  await holds(context, 'DELETE');
  await answered;
  await workAround(context, workerAhead);
  if (back !== undefined) await context.inflict(back);
  await workAround(context, workerBack);
  const [itsAhead, itsBack] = CLOCK_ACTIONS.gateway;
  if (gatewayAhead !== undefined) await context.inflict(gatewayAhead);
  const answers = await askTheGateway(context, itsAhead);
  if (gatewayBack !== undefined) await context.inflict(gatewayBack);
  answers.push(...(await askTheGateway(context, itsBack)));
  for (const name of [...CLOCK_ACTIONS.worker, ...CLOCK_ACTIONS.gateway]) {
    const ref = refOf(context, 'acme', labelOf(name));
    const { attempts } = await observeAction(context, ref, (what) => of(name, what));
    context.observe(of(name, 'attempts'), attempts);
  }
  await judgeDeliveries(context, answers);
  context.observe(
    'counters that differ from the open attempts',
    await context.judge.wrongCounters(),
  );
  await Promise.all(odd.map((one) => one.stop()));
  for (const one of odd) one.useNoClock();
  await Promise.all([...odd.map((one) => one.start()), site.process('worker-2').start()]);
};

/** An action and a delivery of each lane, through either gateway. */
async function workAround(context: CaseContext, name: string): Promise<void> {
  const events = inEachLane(labelOf(name));
  await postEach(context, events);
  await askApproved(context, approvedWish('acme', labelOf(name)));
  await eachIn(context, events, 'Acknowledged');
}

type LaneAnswer = readonly [(typeof LANES)[number], string];

/** The same through the one whose clock it is, and without a second try; what it answers to the vendor. */
async function askTheGateway(context: CaseContext, name: string): Promise<LaneAnswer[]> {
  const via = 'gateway-1';
  const events = inEachLane(labelOf(name));
  const answers: LaneAnswer[] = [];
  for (const event of events) {
    answers.push([event.lane, statusAndCode(await postOnce(context, event, via))]);
  }
  const answer = await askApproved(context, { ...approvedWish('acme', labelOf(name)), via });
  const said = `${statusAndCode(answer)} of ${String(answer.gateway)}`;
  context.observe(of(name, 'answer to the call'), said);
  await eachIn(context, events, 'Acknowledged');
  return answers;
}

async function judgeDeliveries(
  context: CaseContext,
  answers: readonly LaneAnswer[],
): Promise<void> {
  const [, ...names] = [...CLOCK_ACTIONS.worker, ...CLOCK_ACTIONS.gateway];
  for (const lane of LANES) {
    const events = names.map((name) => ({ label: labelOf(name), lane }));
    const live = await observeSeveral(context, lane, events);
    const attempts = live.reduce((sum, one) => sum + one.attempts, 0);
    context.observe(of(lane, 'attempts that they took'), attempts);
    const said = answers.filter(([of]) => of === lane).map(([, answer]) => answer);
    context.observe(of(lane, 'answers of the gateway'), said.join(' '));
  }
}

function labelOf(name: string): string {
  return `clock-${name.replaceAll(' ', '-')}`;
}
