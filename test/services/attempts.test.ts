/**
 * Attempts that never reach the target for want of a signature, and what is told of one that has ended
 * before; in both lanes. Real: Postgres, secrets, the call. Doubled: a provider with a defect.
 */
import { LANES } from '../../src/domain/lanes';
import { DeliveryRig } from '../support/delivery-rig';
import { askNext, leaseOver, nextAttempt } from '../support/next-attempt';

let rig: DeliveryRig;
beforeAll(async () => {
  rig = await DeliveryRig.start();
});
afterAll(() => rig.stop());

describe.each(LANES)('in the lane %s', (lane) => {
  test.each([
    ['missing', 'env:TEST_NO_SUCH_SECRET', 'secret env:TEST_NO_SUCH_SECRET is not set'],
    ['no key', 'env:PATH', 'secret env:PATH is no whsec_ key'],
  ])('a secret that is %s is named by its reference, never its value', async (what, ref, said) => {
    const fixture = await rig.catalog({
      lane,
      subscription: `${lane}-signed-${what.replace(' ', '-')}`,
      targetSecretRefs: [ref],
    });
    const delivery = await rig.accept(fixture);
    await nextAttempt(rig, delivery);
    const [attempt] = await rig.db.rows<{ outcome: string; reason: string; detail: string }>(
      `select outcome, reason, detail from waybill.delivery_attempts where delivery_id = $1`,
      [delivery.deliveryId],
    );
    expect(attempt).toMatchObject({ outcome: 'not_sent', reason: 'secret_unavailable' });
    expect(attempt?.detail).toContain(said);
    expect(attempt?.detail).not.toContain(process.env['PATH']);
    expect(rig.receiver.of(delivery.deliveryId)).toHaveLength(0);
  });

  test('a defect is not told as a missing secret: it is thrown, and the attempt stays open', async () => {
    const fixture = await rig.catalog({
      lane,
      subscription: `${lane}-defective`,
      targetSecretRefs: ['env:TEST_ANY'],
    });
    const delivery = await rig.accept(fixture);
    const secrets = { resolve: () => Promise.reject(new TypeError('a defect')) };
    const attempting = nextAttempt(rig, delivery, { services: { ...rig.services, secrets } });
    await expect(attempting).rejects.toThrow('a defect');
    expect(await rig.row(delivery)).toMatchObject({ attempts: 1, reason: null });
  });

  test('whose answer was lost is told the same reason when it is looked at again', async () => {
    const fixture = await rig.catalog({ lane, subscription: `${lane}-ended` });
    const delivery = await rig.accept(fixture);
    await rig.db.rows(
      `update waybill.subscriptions set state = 'deactivated' where subscription_id = $1`,
      [fixture.subscription],
    );
    const why = { reason: 'subscription_deactivated', detail: 'the subscription was deactivated' };
    const failed = await nextAttempt(rig, delivery);
    expect(failed).toMatchObject({ kind: 'failed', ...why });
    const again = await nextAttempt(rig, delivery);
    expect(again).toEqual({ kind: 'settled', state: 'Failed', attempts: 0, ...why });
  });

  test('a worker that was lost does not end a series whose next attempt is at once, within its span', async () => {
    const fixture = await rig.catalog({
      lane,
      subscription: `${lane}-short`,
      retry: {
        ...{ attempts: 3, jitter: 0, totalSpanMs: 30_000, retryAfterCapMs: 0 },
        backoff: { kind: 'list', delaysMs: [60_000] },
      },
    });
    const delivery = await rig.accept(fixture);
    await askNext(rig.db, delivery);
    if (lane === 'express') await leaseOver(rig.db, delivery);
    const told = await nextAttempt(rig, delivery, { takeOver: true });
    expect(told).toMatchObject({ kind: 'retry', reason: 'worker_lost', dueInMs: 0 });
    rig.receiver.answers.push({ status: 503 });
    expect(await nextAttempt(rig, delivery)).toMatchObject({ kind: 'failed' });
  });

  test('B022: the late answer to an attempt that was taken over changes nothing, and is kept', async () => {
    const fixture = await rig.catalog({
      lane,
      subscription: `${lane}-late`,
      timeoutMs: 700,
      breakerFailures: 1,
    });
    const delivery = await rig.accept(fixture);
    rig.receiver.answers.push('hang');
    const seen = rig.receiver.calls.length;
    const stale = nextAttempt(rig, delivery);
    await rig.receiver.seen(seen + 1);
    if (lane === 'express') {
      // Nobody can know that the loop is dead, but by its time.
      const asked = await nextAttempt(rig, delivery, { takeOver: true });
      expect(asked).toMatchObject({ kind: 'in_flight', attempt: 1 });
      await leaseOver(rig.db, delivery);
    }
    const taken = await nextAttempt(rig, delivery, { takeOver: true });
    expect(taken).toMatchObject({ kind: 'retry', attempt: 1, reason: 'worker_lost' });
    const next = await nextAttempt(rig, delivery);
    expect(next).toEqual({ kind: 'acknowledged', attempt: 2 });
    expect(await stale).toEqual({ kind: 'superseded', attempt: 1 });
    const rows = await rig.db.rows(
      `select attempt_no, outcome, late_evidence->>'reason' as late from waybill.delivery_attempts
      where delivery_id = $1 order by attempt_no`,
      [delivery.deliveryId],
    );
    expect(rows).toEqual([
      { attempt_no: 1, outcome: 'unknown', late: 'timed_out' },
      { attempt_no: 2, outcome: 'acknowledged', late: null },
    ]);
    expect(await rig.row(delivery)).toMatchObject({ state: 'Acknowledged', receipt_seq: 1 });
    // Nor does it count against its target.
    expect(
      await rig.db.rows(`select from waybill.target_states where target_id = $1`, [
        `${fixture.subscription}-target`,
      ]),
    ).toEqual([]);
  });
});
