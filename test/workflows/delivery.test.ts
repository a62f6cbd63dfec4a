/**
 * The delivery workflow on a real Temporal server, a real Postgres and a real HTTP target. Doubled:
 * nothing. Verdicts come from rows, from what the target received, and from the server.
 */
import { WorkflowNotFoundError } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { LANES, type Lane } from '../../src/domain/lanes';
import { publicKeySet } from '../../src/signing/keys';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import { decideReplay } from '../../src/services/replays';
import { DeliveryRig } from '../support/delivery-rig';
import { until } from '../support/until';
import { QUICK_RETRY, type CatalogFixture } from '../support/catalog-fixture';

let rig: DeliveryRig;
let fixture: CatalogFixture;
let fixtures: Readonly<Record<Lane, CatalogFixture>>;

beforeAll(async () => {
  rig = await DeliveryRig.start();
  fixture = await rig.catalog();
  const express = await rig.catalog({ lane: 'express', subscription: 'express' });
  fixtures = { durable: fixture, express };
  await rig.work();
});
afterAll(async () => {
  await rig.stop();
});
beforeEach(() => {
  rig.receiver.otherwise = { status: 200, body: 'ok' };
  rig.receiver.answers.length = 0;
});

const STATE = defineSearchAttributeKey('WaybillState', 'KEYWORD');
const WHO = { replayedBy: 'ada', reason: 'target repaired' };

test('a delivery that succeeds at once costs 11 history events', async () => {
  const ref = await rig.deliver(fixture);
  await rig.handle(ref).result();
  const history = await rig.handle(ref).fetchHistory();
  expect(history.events).toHaveLength(11);
});

test('a replay signal is decided by the row: refused while it is not failed, and not kept', async () => {
  rig.receiver.answers.push('hang');
  rig.receiver.otherwise = { status: 503 };
  const before = rig.receiver.calls.length;
  const ref = await rig.deliver(fixture);
  await rig.receiver.seen(before + 1);
  await rig.handle(ref).signal('replay');
  await rig.waits(ref);
  await rig.reaches(ref, 'Failed');
  expect(await rig.row(ref)).toMatchObject({ series: 1 });
});

test('a replay signal without input is taken as soon as the row is failed', async () => {
  rig.receiver.otherwise = { status: 404 };
  const ref = await rig.deliver(fixture);
  await rig.reaches(ref, 'Failed');
  rig.receiver.otherwise = { status: 200 };
  await rig.handle(ref).signal('replay');
  expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ series: 2 });
});

test('a replay signal with unusable input is refused on its page, and the workflow still ends', async () => {
  rig.receiver.otherwise = { status: 404 };
  const ref = await rig.deliver(fixture);
  await rig.waits(ref);
  await rig.handle(ref).signal('replay', { by: 123 });
  await rig.says(ref, /The replay was refused.*`by`[\s\S]*Failed/);
  rig.receiver.otherwise = { status: 200 };
  await rig.handle(ref).signal('replay');
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'Acknowledged' });
  const { typedSearchAttributes } = await rig.handle(ref).describe();
  expect(typedSearchAttributes.get(STATE)).toBe('Acknowledged');
});

test('the wait for a replay is bounded, and a later replay starts the workflow again', async () => {
  rig.receiver.otherwise = { status: 503 };
  const ref = await rig.deliver(fixture, { failedWaitMs: 50 });
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'Failed' });
  rig.receiver.otherwise = { status: 200 };
  await decideReplay(rig.services, ref, WHO);
  await rig.workflows().nudge(ref, about());
  await rig.reaches(ref, 'Acknowledged');
});

test('a workflow that was terminated goes on from the row', async () => {
  const slow = await rig.catalog({
    subscription: 'slow',
    retry: {
      attempts: 2,
      backoff: { kind: 'list', delaysMs: [400] },
      jitter: 0,
      totalSpanMs: null,
      retryAfterCapMs: 1000,
    },
  });
  rig.receiver.answers.push({ status: 503 });
  const ref = await rig.deliver(slow);
  await until('the first attempt is closed', async () =>
    (await rig.row(ref)).reason === 'status_refused' ? true : null,
  );
  await rig.handle(ref).terminate('by an operator');
  await rig.start(ref, slow);
  expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 2 });
  expect(rig.receiver.of(ref.deliveryId)).toHaveLength(2);
});

test('an unknown delivery ends its workflow', async () => {
  const ref = { ...(await rig.accept(fixture)), tenantId: 'nobody' as never };
  await rig.start(ref, fixture);
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'unknown' });
});

test('a workflow is not started for what nobody accepted', async () => {
  const ref = await rig.accept(fixture);
  await expect(rig.handle(ref).describe()).rejects.toThrow(WorkflowNotFoundError);
});

function about() {
  return {
    connectorId: fixture.connector,
    eventType: 'push',
    subscriptionId: fixture.subscription,
  };
}

describe.each(LANES)('in the lane %s', (lane) => {
  test('a delivery reaches its target once and is acknowledged with event and receipt', async () => {
    const ref = await rig.deliver(fixtures[lane]);
    expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 1 });
    const calls = rig.receiver.of(ref.deliveryId);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.body.toString()).toBe('{"n":1}');
    expect(calls[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-github-event': 'push',
      'waybill-attempt': '1',
      'waybill-replay': '0',
    });
    expect(await rig.events(ref)).toEqual(['delivery-received', 'delivery-dispatched']);
    const jwks = publicKeySet([rig.services.signingKey]);
    expect(await verifyReceiptChain(await rig.receipts(ref), jwks)).toMatchObject({ ok: true });
  });

  test('while an attempt cannot be made, the delivery waits and says so, then goes on', async () => {
    const ref = await rig.accept(fixtures[lane]);
    const open = 'function waybill.mark_dispatched(tid[], timestamptz, timestamptz)';
    await rig.db.rows(`revoke execute on ${open} from waybill_data`);
    if (lane === 'durable') await rig.start(ref, fixture);
    await rig.says(ref, /could not be made/);
    await rig.db.rows(`grant execute on ${open} to waybill_data`);
    await rig.reaches(ref, 'Acknowledged');
  });

  test('a refusing target is tried as often as the profile says, then the delivery fails', async () => {
    rig.receiver.otherwise = { status: 503 };
    const ref = await rig.deliver(fixtures[lane]);
    const row = await rig.reaches(ref, 'Failed');
    expect(row).toMatchObject({ attempts: 3, reason: 'status_refused' });
    expect(rig.receiver.of(ref.deliveryId)).toHaveLength(3);
    expect(await rig.events(ref)).toEqual(['delivery-received', 'delivery-failed']);
  });

  test('a delivery that waits for its next attempt says so, and why', async () => {
    const slow = await rig.catalog({
      ...{ lane, subscription: `${lane}-slow` },
      retry: { ...QUICK_RETRY, backoff: { kind: 'list', delaysMs: [600_000] } },
    });
    rig.receiver.answers.push({ status: 503 });
    const ref = await rig.deliver(slow);
    await rig.says(ref, /Waits for its next attempt.*Attempt 1 did not succeed.*503/);
    await rig.waits(ref);
    expect(await rig.row(ref)).toMatchObject({ state: 'Dispatched', attempts: 1 });
  });

  test('a failed delivery is found by state and tenant, and its page says what to do', async () => {
    rig.receiver.otherwise = { status: 404 };
    const ref = await rig.deliver(fixtures[lane]);
    await rig.reaches(ref, 'Failed');
    await until('it is listed', async () => {
      const query =
        'WaybillState = "Failed" and WaybillTenant = "acme" and WaybillWaitingSince is not null';
      for await (const found of rig.client.workflow.list({ query })) {
        if (found.workflowId.endsWith(ref.deliveryId)) return found;
      }
      return null;
    });
    const details = await rig.says(ref, /Failed/);
    expect(details).toContain('replay');
    expect(details).toContain(ref.deliveryId);
  });

  test('a replay gets a new budget, the same delivery id and a new attempt', async () => {
    rig.receiver.otherwise = { status: 503 };
    const ref = await rig.deliver(fixtures[lane]);
    await rig.reaches(ref, 'Failed');
    rig.receiver.otherwise = { status: 200 };
    expect(await decideReplay(rig.services, ref, WHO)).toEqual({ kind: 'replayed', series: 2 });
    await rig.workflows().nudge(ref, about());
    await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'Acknowledged' });
    expect(await rig.row(ref)).toMatchObject({ attempts: 4, series: 2 });
    expect(rig.receiver.of(ref.deliveryId).at(-1)?.headers).toMatchObject({
      'waybill-attempt': '4',
      'waybill-replay': '1',
    });
    expect(await rig.events(ref)).toEqual([
      'delivery-received',
      'delivery-failed',
      'delivery-replayed',
      'delivery-dispatched',
    ]);
    const jwks = publicKeySet([rig.services.signingKey]);
    const receipts = await rig.receipts(ref);
    expect(receipts).toHaveLength(3);
    expect(await verifyReceiptChain(receipts, jwks)).toMatchObject({ ok: true });
  });

  test('the signal from the Temporal UI replays a failed delivery', async () => {
    rig.receiver.otherwise = { status: 503 };
    const ref = await rig.deliver(fixtures[lane]);
    await rig.reaches(ref, 'Failed');
    rig.receiver.otherwise = { status: 200 };
    await rig.handle(ref).signal('replay', { by: 'grace', reason: 'repaired' });
    await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'Acknowledged' });
    const audit = await rig.db.rows(
      `select actor, detail->>'reason' as reason from waybill.audit_log where subject = $1`,
      [`delivery/${ref.deliveryId}`],
    );
    expect(audit).toEqual([{ actor: 'grace', reason: 'repaired' }]);
  });

  test('a gone target pauses the subscription, which collects until it is resumed', async () => {
    const gone = await rig.catalog({ lane, subscription: `${lane}-gone` });
    rig.receiver.answers.push({ status: 410 });
    const first = await rig.deliver(gone);
    expect(await rig.reaches(first, 'Failed')).toMatchObject({
      attempts: 1,
      reason: 'target_gone',
    });
    const second = await rig.deliver(gone);
    await until('the second is held', async () =>
      (await rig.row(second)).reason === 'held' ? true : null,
    );
    await rig.says(second, /Held/);
    expect(rig.receiver.of(second.deliveryId)).toHaveLength(0);
    await rig.db.rows(
      `update waybill.subscriptions set state = 'active', pause_reason = null where subscription_id = $1`,
      [gone.subscription],
    );
    await rig.reaches(second, 'Acknowledged');
  });

  test.each([
    ['is missing', 'env:TEST_NO_SUCH_SECRET'],
    ['is no key', 'env:PATH'],
  ])(
    'a target secret that %s sends nothing, is tried again and then says why',
    async (_what, secretRef) => {
      const unsigned = await rig.catalog({
        lane,
        subscription: `unsigned-${lane}-${secretRef.slice(4).toLowerCase().replaceAll('_', '-')}`,
        targetSecretRefs: [secretRef],
      });
      const ref = await rig.deliver(unsigned);
      const row = await rig.reaches(ref, 'Failed');
      expect(row).toMatchObject({ attempts: 3, reason: 'secret_unavailable' });
      expect(rig.receiver.of(ref.deliveryId)).toHaveLength(0);
    },
  );
});
