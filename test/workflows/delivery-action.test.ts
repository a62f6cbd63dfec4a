/**
 * A delivery whose target is an action, on a real Temporal server, a real Postgres and a real host over
 * the controlled provider. Doubled: nothing. Verdicts: rows, receipts, the provider's own records, and
 * what the Temporal UI shows.
 */
import { RESOLVE_UPDATE } from '../../src/domain/action-activities';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES, type Lane } from '../../src/domain/lanes';
import { decideReplay } from '../../src/services/replays';
import { publicKeySet } from '../../src/signing/keys';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import { ActionDeliveryRig, PAYLOAD } from '../support/action-delivery-rig';
import type { CatalogFixture } from '../support/catalog-fixture';
import { until } from '../support/until';

let rig: ActionDeliveryRig;
/** By lane and name. */
const fixtures = new Map<string, CatalogFixture>();

beforeAll(async () => {
  rig = await ActionDeliveryRig.start();
  const reads = { capabilityId: 'tickets.read', request: { recordId: { from: '/issue/title' } } };
  const report = { title: { from: '/issue/title' }, durationMs: { from: '/ms' } };
  const subscriptions = {
    tickets: {},
    blind: { capabilityId: 'tickets.create_blind' },
    reads,
    reports: { capabilityId: 'reports.build', request: report },
  };
  for (const [name, target] of Object.entries(subscriptions)) {
    for (const lane of LANES) {
      const fixture = await rig.subscribe(`${lane}-${name}`, target, lane);
      fixtures.set(fixture.subscription, fixture);
    }
  }
  await rig.work();
});
afterEach(() => rig.actions.holdEffects(0));
afterAll(() => rig.stop());

interface Delivering {
  readonly lane?: Lane;
  readonly body?: string;
}
async function deliver(to: string, { lane = 'durable', body = PAYLOAD }: Delivering = {}) {
  const fixture = fixtures.get(`${lane}-${to}`);
  if (fixture === undefined) throw new Error('there is no such subscription');
  const ref = await rig.deliveries.accept(fixture, body);
  if (lane === 'durable') await rig.deliveries.start(ref, fixture);
  return ref;
}

const ended = (ref: DeliveryRef) => rig.deliveries.handle(ref).result();
const effects = (ref: DeliveryRef, series = 1) => rig.actions.effects(rig.actionOf(ref, series));

async function replay(ref: DeliveryRef, subscription: string): Promise<void> {
  const who = { replayedBy: 'ada', reason: 'mended' };
  expect(await decideReplay(rig.deliveries.services, ref, who)).toMatchObject({ kind: 'replayed' });
  await rig.deliveries.workflows().nudge(ref, {
    connectorId: 'github',
    eventType: 'push',
    subscriptionId: subscription,
  });
}

describe.each(LANES)('in the lane %s', (lane) => {
  test('a delivery is acknowledged with the result of its action, which had its effect once', async () => {
    const ref = await deliver('tickets', { lane });
    await rig.deliveries.reaches(ref, 'Acknowledged');
    const action = await rig.actions.row(rig.actionOf(ref));
    expect(action).toMatchObject({ state: 'completed', deliveryId: ref.deliveryId });
    expect(effects(ref)).toBe(1);
    const [attempt] = await rig.attemptsOf(ref);
    expect(attempt).toMatchObject({
      outcome: 'acknowledged',
      status: null,
      answer_sha256: action.result?.resultSha256,
    });
    expect(JSON.parse(attempt?.answer_head ?? '')).toMatchObject({
      reference: rig.actionOf(ref).actionId,
    });
    expect(attempt?.detail).toContain(rig.actionOf(ref).actionId);
    expect(await rig.deliveries.events(ref)).toEqual(['delivery-received', 'delivery-dispatched']);
    const receipts = await rig.deliveries.receipts(ref);
    const jwks = publicKeySet([rig.deliveries.services.signingKey]);
    expect(await verifyReceiptChain(receipts, jwks)).toMatchObject({ ok: true });
    const [, payload = ''] = (receipts[0] ?? '').split('.');
    const { data } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { data: unknown };
    expect(data).toMatchObject({ targetKind: 'action', status: null });
  });

  test('a failed action fails its delivery at once, and a replay starts another one', async () => {
    const ref = await deliver('reads', { lane });
    const row = await rig.deliveries.reaches(ref, 'Failed');
    expect(row).toMatchObject({ attempts: 1, reason: 'action_failed' });
    const [attempt] = await rig.attemptsOf(ref);
    expect(attempt).toMatchObject({ outcome: 'refused', answer_sha256: null });
    expect(attempt?.detail).toContain('record_not_found');
    await rig.deliveries.says(ref, /Failed/);
    await replay(ref, `${lane}-reads`);
    await until('it has failed again', async () => {
      const { series, state } = await rig.deliveries.row(ref);
      return series === 2 && state === 'Failed' ? true : null;
    });
    expect(await rig.actionsOf(ref)).toEqual([`${ref.deliveryId}.1`, `${ref.deliveryId}.2`]);
  });
});

test('the message of an action that has ended costs no further look', async () => {
  const ref = await deliver('tickets');
  await ended(ref);
  const { events } = await rig.deliveries.handle(ref).fetchHistory();
  const answers = (events ?? []).flatMap((event) => {
    const [payload] = event.activityTaskCompletedEventAttributes?.result?.payloads ?? [];
    return payload === undefined ? [] : [Buffer.from(payload.data ?? []).toString()];
  });
  expect(answers.at(-1)).toContain('acknowledged');
  expect(answers.filter((answer) => answer.includes('settled'))).toEqual([]);
});

test('while its action is at work the delivery waits, says for what, and hears of the end', async () => {
  const body = JSON.stringify({ issue: { title: 'All' }, ms: 5_000 });
  const refs = await Promise.all(LANES.map((lane) => deliver('reports', { lane, body })));
  await Promise.all(refs.map(waitsForItsAction));
  const started = performance.now();
  for (const ref of refs) {
    await expect(ended(ref)).resolves.toEqual({ state: 'Acknowledged' });
    expect(await rig.attemptsOf(ref)).toMatchObject([{ attempt_no: 1, outcome: 'acknowledged' }]);
  }
  // Its own next look would come after 30 s.
  expect(performance.now() - started).toBeLessThan(20_000);
});

async function waitsForItsAction(ref: DeliveryRef): Promise<void> {
  await rig.deliveries.waits(ref);
  const details = await rig.deliveries.says(ref, /Waits for its action/);
  expect(details).toContain(rig.actionOf(ref).actionId);
  expect(details).toMatch(/`(requested|reserved|dispatching)`/);
  const [row] = await rig.db.rows(
    `select state, reason, detail like 'action ' || $2 || ' is %' as told,
        waiting_since is not null as waits
      from waybill.deliveries where delivery_id = $1`,
    [ref.deliveryId, rig.actionOf(ref).actionId],
  );
  expect(row).toEqual({ state: 'Dispatched', reason: 'action_open', told: true, waits: true });
}

test('a cancelled action fails its delivery', async () => {
  const ref = await deliver('reports', {
    body: JSON.stringify({ issue: { title: 'All' }, ms: 60_000 }),
  });
  await rig.deliveries.waits(ref);
  const who = { cancelledBy: 'ada', reason: 'not needed' };
  await rig.actions.actions.cancel(rig.actionOf(ref), who);
  expect(await rig.deliveries.reaches(ref, 'Failed')).toMatchObject({ reason: 'action_cancelled' });
});

describe('an action that needs an operator', () => {
  async function doubtful(): Promise<DeliveryRef> {
    await rig.actions.holdEffects(1);
    const ref = await deliver('blind');
    await until('the effect is there', () => Promise.resolve(effects(ref) === 1 ? true : null));
    await rig.actions.reaches(rig.actionOf(ref), 'needs_operator');
    await rig.actions.says(rig.actionOf(ref), /Needs an operator/);
    return ref;
  }
  const resolve = (ref: DeliveryRef, outcome: string) =>
    rig.actions.handle(rig.actionOf(ref)).executeUpdate(RESOLVE_UPDATE, {
      args: [{ outcome, by: 'grace', reason: 'looked at the provider' }],
    });

  test('is waited for, and its delivery is acknowledged with what the operator says', async () => {
    const ref = await doubtful();
    await rig.deliveries.waits(ref);
    await resolve(ref, 'completed');
    await expect(ended(ref)).resolves.toEqual({ state: 'Acknowledged' });
    expect(effects(ref)).toBe(1);
  });

  test('and is said to have failed had no effect: a replay does it anew', async () => {
    const ref = await doubtful();
    await resolve(ref, 'failed');
    await rig.deliveries.reaches(ref, 'Failed');
    await rig.actions.holdEffects(0);
    await rig.deliveries.says(ref, /resolved_as_failed/);
    await replay(ref, 'durable-blind');
    await expect(ended(ref)).resolves.toEqual({ state: 'Acknowledged' });
    expect(await rig.actionsOf(ref)).toEqual([`${ref.deliveryId}.1`, `${ref.deliveryId}.2`]);
    expect(effects(ref, 2)).toBe(1);
  });
});
