/**
 * Attempts whose target is an action, step by step and in both lanes: who asks next goes on with the same
 * action, whatever the one before has left. Real: Postgres, the catalog, the request checks. Doubled: nobody
 * runs the actions; their ends are written as their workflow would.
 */
import type { AttemptAnswer, DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES } from '../../src/domain/lanes';
import type { ActionTarget } from '../../src/schemas/targets';
import { startAction } from '../../src/services/actions/starting';
import { decideReplay } from '../../src/services/replays';
import { ActionDeliveryRig, PAYLOAD, TICKET } from '../support/action-delivery-rig';
import type { CatalogFixture } from '../support/catalog-fixture';
import { askNext, leaseOver, nextAttempt } from '../support/next-attempt';
import { startingActions } from '../support/starting-actions';

let rig: ActionDeliveryRig;
let tickets: CatalogFixture;

beforeAll(async () => {
  rig = await ActionDeliveryRig.start(({ services }) =>
    startingActions(services.data, () => undefined),
  );
});
afterAll(() => rig.stop());

/** One call of the activity; nothing ends quickly here, so it does not wait for that. */
function look(ref: DeliveryRef, takeOver = false): Promise<AttemptAnswer> {
  const signal = AbortSignal.abort();
  return nextAttempt(rig.deliveries, ref, { takeOver, signal });
}

/** Over the states that lie between, each judged by the guard. */
async function end(actionId: string, outcome: string, errorCode: string | null = null) {
  const states = outcome === 'cancelled' ? [] : ['reserved', 'dispatching'];
  for (const state of states) {
    await rig.db.rows('update waybill.actions set state = $2 where action_id = $1', [
      actionId,
      state,
    ]);
  }
  await rig.db.rows(
    `update waybill.actions set state = $2, result_outcome = $3, error_code = $4, attend_at = null,
        closed_at = clock_timestamp() where action_id = $1`,
    [actionId, outcome === 'succeeded' ? 'completed' : outcome, outcome, errorCode],
  );
}

/** Whether it is looked at only once its workflow should have looked. */
async function attended(ref: DeliveryRef) {
  const [row] = await rig.db.rows(
    `select state, reason, driver, attend_at > clock_timestamp() + interval '80 seconds' as later
      from waybill.deliveries where delivery_id = $1`,
    [ref.deliveryId],
  );
  return row;
}

async function following(): Promise<DeliveryRef> {
  const ref = await rig.deliveries.accept(tickets, PAYLOAD);
  expect(await look(ref)).toMatchObject({ kind: 'following' });
  return ref;
}

async function replayed(ref: DeliveryRef): Promise<void> {
  const who = { replayedBy: 'ada', reason: 'mended' };
  expect(await decideReplay(rig.deliveries.services, ref, who)).toMatchObject({ kind: 'replayed' });
}

describe.each(LANES)('in the lane %s', (lane) => {
  /** A subscription of the lane. */
  const subscribe = (name: string, target?: Partial<ActionTarget>) =>
    rig.subscribe(`${lane}-${name}`, target, lane);
  beforeAll(async () => {
    tickets = await subscribe('tickets');
  });

  test('the first look starts the action of its delivery, and the attempt stays open', async () => {
    const ref = await rig.deliveries.accept(tickets, PAYLOAD);
    const { actionId } = rig.actionOf(ref);
    expect(await look(ref)).toEqual({
      ...{ kind: 'following', attempt: 1, actionId, state: 'requested', againInMs: 30_000 },
      why: 'it is under way',
    });
    const [action] = await rig.db.rows(
      `select capability_id, requested_by, delivery_id, affinity_key, convert_from(r.content, 'UTF8') as request
      from waybill.actions a join waybill.artifacts r on r.sha256 = a.request_sha256 where action_id = $1`,
      [actionId],
    );
    expect(action).toEqual({
      ...{ capability_id: 'tickets.create', requested_by: `delivery/${ref.deliveryId}` },
      ...{ delivery_id: ref.deliveryId, affinity_key: null, request: '{"title":"Broken lamp"}' },
    });
    const row = { state: 'Dispatched', reason: 'action_open', driver: 'workflow' };
    // Where the loop has started it, nobody has started its workflow yet.
    expect(await attended(ref)).toEqual({ ...row, later: lane === 'durable' });
    await look(ref);
    expect(await attended(ref)).toEqual({ ...row, later: true });
  });

  test('it is followed past its deadline, and by whoever takes over', async () => {
    const ref = await following();
    await leaseOver(rig.db, ref);
    expect(await look(ref)).toMatchObject({ kind: 'following', attempt: 1 });
    expect(await look(ref, true)).toMatchObject({ kind: 'following', attempt: 1 });
    expect(await rig.attemptsOf(ref)).toMatchObject([{ attempt_no: 1, outcome: null }]);
    await end(rig.actionOf(ref).actionId, 'succeeded');
    expect(await look(ref)).toEqual({ kind: 'acknowledged', attempt: 1, ...idOf(ref) });
  });

  const idOf = (ref: DeliveryRef) => ({ actionId: rig.actionOf(ref).actionId });

  test('a worker that died between opening the attempt and starting the action loses nothing', async () => {
    const ref = await rig.deliveries.accept(tickets, PAYLOAD);
    await askNext(rig.db, ref);
    expect(await look(ref)).toMatchObject({ kind: 'following', attempt: 1 });
    expect(await rig.actionsOf(ref)).toEqual([rig.actionOf(ref).actionId]);
  });

  test('one that died after starting it is followed up with the same action', async () => {
    const ref = await rig.deliveries.accept(tickets, PAYLOAD);
    await askNext(rig.db, ref);
    await startAction(rig.deliveries.services.actions, {
      ...rig.actions.order('tickets.create', { title: 'Broken lamp' }),
      ...{
        actionId: rig.actionOf(ref).actionId,
        delivery: { deliveryId: ref.deliveryId, approval: null },
      },
    });
    expect(await look(ref, true)).toMatchObject({ kind: 'following', attempt: 1, ...idOf(ref) });
    expect(await rig.actionsOf(ref)).toHaveLength(1);
  });

  test('of eight at once each meets the same action', async () => {
    const ref = await rig.deliveries.accept(tickets, PAYLOAD);
    const answers = await Promise.all(Array.from({ length: 8 }, () => look(ref)));
    expect(answers).toHaveLength(8);
    for (const answer of answers) expect(answer).toMatchObject({ kind: 'following', attempt: 1 });
    expect(await rig.actionsOf(ref)).toHaveLength(1);
  });

  test('a template that is changed, or a subscription that is moved, leaves it with its action', async () => {
    const fixture = await subscribe('moved');
    const ref = await rig.deliveries.accept(fixture, PAYLOAD);
    await look(ref);
    const template = JSON.stringify({ ...TICKET, request: { title: 'Another' } });
    await rig.db.rows(`update waybill.targets set config = $1 where target_id = $2`, [
      template,
      `${fixture.subscription}-action`,
    ]);
    expect(await look(ref)).toMatchObject({ kind: 'following', ...idOf(ref) });
    await rig.db.rows(
      `update waybill.subscriptions set target_id = $1 where subscription_id = $2`,
      [`${fixture.subscription}-target`, fixture.subscription],
    );
    expect(await look(ref, true)).toMatchObject({ kind: 'following', ...idOf(ref) });
  });

  test('a pause does not keep the end of its action from it', async () => {
    const fixture = await subscribe('paused');
    const ref = await rig.deliveries.accept(fixture, PAYLOAD);
    await look(ref);
    await rig.db.rows(
      `update waybill.subscriptions set state = 'paused' where subscription_id = $1`,
      [fixture.subscription],
    );
    await end(rig.actionOf(ref).actionId, 'succeeded');
    expect(await look(ref)).toMatchObject({ kind: 'acknowledged' });
    const next = await rig.deliveries.accept(fixture, PAYLOAD);
    expect(await look(next)).toMatchObject({ kind: 'held', why: 'paused' });
  });

  test('one that needs an approval is started and waited for like any other', async () => {
    const capabilityId = 'tickets.create_keyed';
    await rig.db.rows(
      'update waybill.bindings set approval_required = true where capability_id = $1',
      [capabilityId],
    );
    const fixture = await subscribe('for-approval', { capabilityId });
    const ref = await rig.deliveries.accept(fixture, PAYLOAD);
    expect(await look(ref)).toMatchObject({ kind: 'following', state: 'requested' });
    expect(await rig.actionsOf(ref)).toHaveLength(1);
  });

  interface Unstartable {
    readonly target?: Partial<ActionTarget>;
    readonly body?: string | Uint8Array;
    readonly reason: string;
    readonly said: string;
  }

  describe('what no retry changes fails at once, and starts nothing', () => {
    const deep = '{"a":'.repeat(200) + '1' + '}'.repeat(200);
    const long = JSON.stringify({ issue: { title: 'x'.repeat(1_048_576) } });
    const UNFIT = 'action_request_invalid';

    test.each<[string, Unstartable]>([
      ['no JSON', { body: 'lamp', reason: UNFIT, said: 'no JSON' }],
      ['no UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]), reason: UNFIT, said: 'no JSON' }],
      ['nothing at a pointer', { body: '{}', reason: UNFIT, said: '/issue/title' }],
      ['a refused request', { target: { request: { name: 1 } }, reason: UNFIT, said: 'request' }],
      ['too deep', { target: { request: null }, body: deep, reason: UNFIT, said: 'than 100' }],
      ['too long', { body: long, reason: UNFIT, said: 'more than 1048576 bytes' }],
      ['no affinity', { target: { affinity: { from: '/who' } }, reason: UNFIT, said: '/who' }],
      [
        'no such capability',
        { target: { capabilityId: 'lamps.mend' }, reason: 'capability_unavailable', said: '' },
      ],
    ])('%s', async (what, { target, body, reason, said }) => {
      const fixture = await subscribe(what.toLowerCase().replaceAll(/[^a-z]/g, '-'), target);
      const ref = await rig.deliveries.accept(fixture, body ?? PAYLOAD);
      const answer = await look(ref);
      expect(answer).toMatchObject({ kind: 'failed', attempts: 1, reason });
      expect((answer as { detail: string }).detail).toContain(said);
      expect(await rig.attemptsOf(ref)).toMatchObject([{ outcome: 'not_sent', reason }]);
      expect(await rig.actionsOf(ref)).toEqual([]);
    });

    test('stored bytes that cannot be read any more', async () => {
      const ref = await rig.deliveries.accept(tickets, '{"issue":{"title":"Lost"}}');
      await askNext(rig.db, ref);
      await rig.db.rows(
        `update waybill.artifacts set content = 'other' where sha256 =
        (select payload_sha256 from waybill.deliveries where delivery_id = $1)`,
        [ref.deliveryId],
      );
      expect(await look(ref)).toMatchObject({ kind: 'failed', reason: 'payload_unreadable' });
    });

    test.each([
      ['another request', { title: 'Not this one' }],
      ['the same request', { title: 'Broken lamp' }],
    ])('an action that somebody started under its id, with %s', async (_what, request) => {
      const ref = await rig.deliveries.accept(tickets, PAYLOAD);
      await startAction(rig.deliveries.services.actions, {
        ...rig.actions.order('tickets.create', request),
        ...{ actionId: rig.actionOf(ref).actionId, delivery: null },
      });
      expect(await look(ref)).toMatchObject({ kind: 'failed', reason: 'action_conflict' });
      expect(await rig.attemptsOf(ref)).toMatchObject([{ outcome: 'not_sent' }]);
    });
  });

  describe('a replay', () => {
    test.each([
      ['failed', 'provider_refused'],
      ['failed', 'resolved_as_failed'],
      ['cancelled', null],
    ])('of one whose action %s (%s) starts another action', async (outcome, errorCode) => {
      const ref = await following();
      await end(rig.actionOf(ref).actionId, outcome, errorCode);
      expect(await look(ref)).toMatchObject({
        ...{ kind: 'failed', attempts: 1, reason: `action_${outcome}`, ...idOf(ref) },
        detail: expect.stringContaining(errorCode ?? outcome) as string,
      });
      await replayed(ref);
      const second = rig.actionOf(ref, 2).actionId;
      expect(await look(ref)).toMatchObject({ kind: 'following', attempt: 2, actionId: second });
      await end(second, 'succeeded');
      expect(await look(ref)).toMatchObject({ kind: 'acknowledged', attempt: 2, actionId: second });
      expect(await rig.actionsOf(ref)).toEqual([rig.actionOf(ref).actionId, second]);
    });

    test('of one whose action had its effect meets the same action, however often', async () => {
      const ref = await following();
      const { actionId } = rig.actionOf(ref);
      await end(actionId, 'failed', 'result_too_large');
      expect(await look(ref)).toMatchObject({ kind: 'failed', reason: 'action_failed' });
      for (const attempts of [2, 3]) {
        await replayed(ref);
        const expected = { kind: 'failed', attempts, reason: 'action_failed', actionId };
        expect(await look(ref)).toMatchObject(expected);
      }
      expect(await rig.actionsOf(ref)).toEqual([actionId]);
    });

    test('of one that had no action starts the one of its own series', async () => {
      const ref = await rig.deliveries.accept(await subscribe('mended', { request: {} }), PAYLOAD);
      expect(await look(ref)).toMatchObject({ kind: 'failed', reason: 'action_request_invalid' });
      await rig.db.rows(`update waybill.targets set config = $1 where target_id = $2`, [
        JSON.stringify(TICKET),
        `${lane}-mended-action`,
      ]);
      await replayed(ref);
      const { actionId } = rig.actionOf(ref, 2);
      expect(await look(ref)).toMatchObject({ kind: 'following', actionId });
    });
  });
});
