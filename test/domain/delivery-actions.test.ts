/** Which action a series of a delivery is about. Real: all of it. */
import { ACTION_STATES, CLOSED_ACTION_STATES } from '../../src/domain/action-states';
import {
  actionOfSeries,
  deliveryActionId,
  followDelayMs,
  isProvablyWithoutEffect,
  judgeAction,
} from '../../src/domain/delivery-actions';
import { deliveryId } from '../../src/domain/ids';

const ID = deliveryId('0190f3a0-0000-7000-8000-000000000001');
const earlier = (state: (typeof ACTION_STATES)[number], errorCode: string | null = null) => ({
  actionId: deliveryActionId(ID, 1),
  state,
  errorCode,
});

test('without an earlier action, the series starts its own', () => {
  expect(actionOfSeries(ID, 3, null)).toEqual({ kind: 'start', actionId: `${ID}.3` });
});

test.each(ACTION_STATES)('the action of the same series is met while it is %s', (state) => {
  expect(actionOfSeries(ID, 1, earlier(state))).toEqual({ kind: 'meet', actionId: `${ID}.1` });
});

test.each([
  ['cancelled', null],
  ['failed', null],
  ['failed', 'record_not_found'],
  ['failed', 'host_refused.request_invalid'],
  ['failed', 'resolved_as_failed'],
] as const)('%s (%s) has had no effect: a replay starts another one', (state, errorCode) => {
  const expected = { kind: 'start', actionId: `${ID}.2` };
  expect(actionOfSeries(ID, 2, earlier(state, errorCode))).toEqual(expected);
});

test.each([
  ['completed', null],
  ['failed', 'result_too_large'],
  ['failed', 'result_invalid'],
] as const)('%s (%s) has had its effect: a replay meets the same one', (state, errorCode) => {
  const expected = { kind: 'meet', actionId: `${ID}.1` };
  expect(actionOfSeries(ID, 2, earlier(state, errorCode))).toEqual(expected);
});

test('of an open action nothing is proven, and it has no verdict', () => {
  for (const state of ACTION_STATES.filter((one) => !CLOSED_ACTION_STATES.includes(one))) {
    expect([state, isProvablyWithoutEffect(earlier(state))]).toEqual([state, false]);
    expect([state, judgeAction(state)]).toEqual([state, null]);
  }
});

test('an end of the action is the end of the attempt, and no later attempt helps', () => {
  expect(judgeAction('completed')).toMatchObject({ outcome: 'acknowledged', mayRetry: false });
  expect(judgeAction('failed')).toMatchObject({ reason: 'action_failed', mayRetry: false });
  expect(judgeAction('cancelled')).toMatchObject({ reason: 'action_cancelled', mayRetry: false });
});

test('an action is looked after more rarely the longer it is open, within bounds', () => {
  expect([0, 60_000, 240_000, 86_400_000].map(followDelayMs)).toEqual([
    30_000, 30_000, 60_000, 300_000,
  ]);
});
