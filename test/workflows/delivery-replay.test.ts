/**
 * What a replay sends and how it ends, in both lanes, on a real Temporal server, a real Postgres and a real
 * target. Doubled: nothing. Signatures are checked by the library of Standard Webhooks.
 */
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES } from '../../src/domain/lanes';
import { deliveryWorkflowId } from '../../src/domain/workflow-ids';
import { decideReplay } from '../../src/services/replays';
import { DeliveryRig } from '../support/delivery-rig';
import type { CatalogFixture } from '../support/catalog-fixture';
import { storedDelivery } from '../support/stored-deliveries';

const SECRET = 'TEST_REPLAY_TARGET_SECRET';

let rig: DeliveryRig;

beforeAll(async () => {
  rig = await DeliveryRig.start();
  await rig.work();
});
afterAll(async () => {
  Reflect.deleteProperty(process.env, SECRET);
  await rig.stop();
});

async function replay(ref: DeliveryRef, fixture: CatalogFixture): Promise<void> {
  await decideReplay(rig.services, ref, { replayedBy: 'ada', reason: 'target repaired' });
  await rig.workflows().nudge(ref, {
    ...{ connectorId: fixture.connector, eventType: 'push' },
    subscriptionId: fixture.subscription,
  });
}

function newSecret(): string {
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  process.env[SECRET] = secret;
  return secret;
}

describe.each(LANES)('in the lane %s', (lane) => {
  test('B024: a replay of a used-up delivery has a whole budget, and so has the one after it', async () => {
    const fixture = await rig.catalog({ lane, subscription: `${lane}-used-up` });
    await rig.db.rows('update waybill.targets set breaker_failures = 0');
    rig.receiver.otherwise = { status: 503 };
    const ref = await rig.deliver(fixture);
    expect(await rig.reaches(ref, 'Failed')).toMatchObject({ attempts: 3, series: 1 });
    await replay(ref, fixture);
    await rig.says(ref, /after 6 attempts/);
    expect(await rig.reaches(ref, 'Failed')).toMatchObject({ attempts: 6, series: 2 });
    rig.receiver.otherwise = { status: 200 };
    await replay(ref, fixture);
    expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 7, series: 3 });
    const history = await rig.db.rows(
      `select series, count(*)::integer as attempts from waybill.delivery_attempts
      where delivery_id = $1 group by series order by series`,
      [ref.deliveryId],
    );
    expect(history).toEqual([
      { series: 1, attempts: 3 },
      { series: 2, attempts: 3 },
      { series: 3, attempts: 1 },
    ]);
  });

  test('B025: a replay sends the same bytes and headers, signed anew with the secret of today', async () => {
    const before = newSecret();
    const fixture = await rig.catalog({
      lane,
      subscription: `${lane}-signed`,
      targetSecretRefs: [`env:${SECRET}`],
    });
    rig.receiver.otherwise = { status: 404 };
    const ref = await rig.deliver(fixture);
    await rig.waits(ref);
    const today = newSecret();
    rig.receiver.otherwise = { status: 200 };
    await replay(ref, fixture);
    await rig.reaches(ref, 'Acknowledged');
    const [first, second, ...more] = rig.receiver.of(ref.deliveryId);
    if (first === undefined || second === undefined) throw new Error('it was not sent twice');
    expect(more).toEqual([]);
    expect(second.body).toEqual(first.body);
    const changing = [
      'waybill-attempt',
      'waybill-replay',
      'webhook-timestamp',
      'webhook-signature',
    ];
    const same = ({ headers }: typeof first) =>
      Object.fromEntries(Object.entries(headers).filter(([name]) => !changing.includes(name)));
    expect(same(second)).toEqual(same(first));
    expect(first.headers).toMatchObject({ 'waybill-attempt': '1', 'waybill-replay': '0' });
    expect(second.headers).toMatchObject({ 'waybill-attempt': '2', 'waybill-replay': '1' });
    const verify = (secret: string, call: typeof first) =>
      new Webhook(secret).verify(call.body, call.headers as Record<string, string>);
    expect(verify(before, first)).toEqual({ n: 1 });
    expect(verify(today, second)).toEqual({ n: 1 });
    expect(() => verify(before, second)).toThrow('No matching signature');
  });

  test('clicks at once by API, command line and Temporal UI are one replay', async () => {
    const fixture = await rig.catalog({ lane, subscription: `${lane}-clicked` });
    rig.receiver.otherwise = { status: 404 };
    const ref = await rig.deliver(fixture);
    await rig.waits(ref);
    rig.receiver.otherwise = { status: 200 };
    const handle = rig.client.workflow.getHandle(deliveryWorkflowId(ref.tenantId, ref.deliveryId));
    const signal = () => handle.signal('replay', { by: 'eve', reason: 'by the UI' });
    await Promise.all([
      ...[signal(), signal()],
      ...[replay(ref, fixture), replay(ref, fixture), replay(ref, fixture)],
    ]);
    await rig.reaches(ref, 'Acknowledged');
    await handle.result();
    expect(await storedDelivery(rig.db, ref)).toMatchObject({ series: 2, attempts: 2 });
    expect(rig.receiver.of(ref.deliveryId)).toHaveLength(2);
    const [row] = await rig.db.rows(
      `select (select count(*)::int from waybill.receipts
          where subject = 'delivery/' || $1 and kind = 'replayed') as receipts,
        (select count(*)::int from waybill.audit_log
          where subject = 'delivery/' || $1 and action = 'replay') as audited,
        (select count(*)::int from waybill.outbox_events
          where aggregate = 'delivery/' || $1 and topic like '%replayed') as events`,
      [ref.deliveryId],
    );
    expect(row).toEqual({ receipts: 1, audited: 1, events: 1 });
  });
});
