/** What a target receives. Real: all of it; nothing is sent. */
import { Webhook } from 'standardwebhooks';
import type { OpenedAttempt } from '../../src/schemas/delivery-rows';
import { dispatchHeaders } from '../../src/targets/dispatch-request';

const SECRET = `whsec_${Buffer.from('an example secret of 24 b').toString('base64')}`;
const SENT_AT_MS = Date.now();

function opened(info: Partial<OpenedAttempt['info']>): OpenedAttempt {
  return {
    answer: 'opened',
    payload: Buffer.from('{"n":1}'),
    info: {
      attempt: 2,
      series: 1,
      eventType: 'push',
      receivedAt: '2026-01-01T00:00:00Z',
      contentType: 'application/json',
      keptHeaders: [['X-GitHub-Event', 'push']],
      firstCall: true,
      ...info,
    } as OpenedAttempt['info'],
  };
}

function headersOf(info: Partial<OpenedAttempt['info']>, secrets: readonly string[] = []) {
  return dispatchHeaders({
    deliveryId: 'd-1',
    opened: opened(info),
    secrets,
    sentAtMs: SENT_AT_MS,
  });
}

test("Waybill's own headers win over a vendor's of the same name", () => {
  const headers = headersOf({ keptHeaders: [['Waybill-Attempt', '99']] });
  expect(headers['waybill-attempt']).toBe('2');
});

test("an event type outside ASCII is percent-encoded: a vendor's word cannot break the request", () => {
  expect(headersOf({ eventType: 'größe 🚀' })['waybill-event-type']).toBe(
    'gr%C3%B6%C3%9Fe %F0%9F%9A%80',
  );
});

test('a target without secret gets no signature', () => {
  expect(headersOf({})).not.toHaveProperty('webhook-signature');
});

test("the signature is one that Standard Webhooks' own library accepts", () => {
  const headers = headersOf({}, [SECRET]);
  expect(headers['webhook-id']).toBe('d-1');
  expect(new Webhook(SECRET).verify('{"n":1}', headers)).toEqual({ n: 1 });
});
