/** Reading a target's answer. Real: all of it. */
import { judgeHttpAnswer } from '../../src/domain/attempts';
import type { Verdict } from '../../src/domain/attempts';

function answered(status: number, bodyAccepted: boolean | null = null): Verdict {
  return judgeHttpAnswer({ kind: 'answered', status, retryAfter: null, bodyAccepted });
}

test.each([200, 201, 202, 204, 299])('%i is an acknowledgement', (status) => {
  expect(answered(status)).toMatchObject({ outcome: 'acknowledged', reason: null });
});

test('a 2xx whose declared body check fails is a failure that may pass', () => {
  expect(answered(200, false)).toMatchObject({
    outcome: 'refused',
    reason: 'body_refused',
    mayRetry: true,
  });
  expect(answered(200, true)).toMatchObject({ outcome: 'acknowledged' });
});

test.each([301, 302, 307, 308])('a redirect (%i) is a failure, never followed', (status) => {
  expect(answered(status)).toMatchObject({ outcome: 'refused', reason: 'redirect_refused' });
});

test.each([400, 401, 403, 404, 409, 422])('%i burns no further attempts', (status) => {
  expect(answered(status)).toMatchObject({
    reason: 'permanent_refusal',
    mayRetry: false,
    pausesSubscription: false,
  });
});

test('410 ends the series and pauses the subscription', () => {
  expect(answered(410)).toEqual({
    outcome: 'refused',
    reason: 'target_gone',
    mayRetry: false,
    pausesSubscription: true,
  });
});

test.each([408, 425, 429, 500, 502, 503, 504])('%i may pass', (status) => {
  expect(answered(status)).toMatchObject({ reason: 'status_refused', mayRetry: true });
});

test('no connection is proof that nothing was sent; a lost answer is not', () => {
  expect(judgeHttpAnswer({ kind: 'not_sent', reason: 'connection_refused' })).toMatchObject({
    outcome: 'not_sent',
    mayRetry: true,
  });
  expect(judgeHttpAnswer({ kind: 'lost', reason: 'timed_out' })).toMatchObject({
    outcome: 'unknown',
    mayRetry: true,
  });
});
