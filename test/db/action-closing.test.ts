/**
 * How an action is closed and how an attempt of it ends, from every state, in a real Postgres as
 * waybill_data. Routes, attempts and counters are the product's; only the state that a result or a
 * settlement meets is put there by the administrator. Verdicts: rows.
 */
import {
  beginDispatch,
  beginFencing,
  closeDispatch,
  concludeFencing,
  requestCancel,
  settleLost,
} from '../../src/db/action-steps';
import type { ActionRef } from '../../src/domain/action-service';
import { ACTION_STATES, isOpenAction, type ActionState } from '../../src/domain/action-states';
import { tenantId } from '../../src/domain/ids';
import { SETTLEMENTS, type ActionResult, type Settlement } from '../../src/domain/routes';
import { CLOSING_STATE } from '../../src/memory/actions';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { testSigner } from '../support/test-signer';

let db: TestDatabase;
let rig: Rig;
beforeAll(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.fixture.change({ settings: { replicaLeaseMs: 600_000 } });
  await rig.account();
  await rig.host({ replica: 'host' });
});
afterAll(() => db.drop());

const data = () => db.as('waybill_data');
let count = 0;
const newId = () => `a${String((count += 1))}`;
const refTo = (actionId: string): ActionRef => ({ tenantId: tenantId('acme'), actionId });
const sign = (actionId: string) => testSigner(refTo(actionId), {});
const receipting = (actionId: string) => ({ expected: null, sign: sign(actionId) });

interface Facts {
  readonly state: ActionState;
  readonly uncertain: boolean;
  readonly outcome: string | null;
  readonly open: number;
}

async function factsOf(id: string): Promise<Facts | undefined> {
  const [row] = await db.rows<Facts>(
    `select state, uncertain, result_outcome as outcome, (select count(*)::integer
        from waybill.route_attempts t where t.action_id = a.action_id and settled_at is null) as open
      from waybill.actions a where action_id = $1`,
    [id],
  );
  return row;
}

/** Puts an action into a state, whatever it was in. */
async function force(id: string, state: ActionState, uncertain: boolean): Promise<void> {
  await db.rows('set session_replication_role = replica');
  await db.rows('update waybill.actions set state = $2, uncertain = $3 where action_id = $1', [
    ...[id, state, uncertain],
  ]);
  await db.rows('reset session_replication_role');
}

/** Nothing is left open or counted but what is under way. */
async function balances(): Promise<void> {
  const [row] = await db.rows(
    `select (select count(*) from waybill.route_attempts where settled_at is null)
        = (select sum(active_assignments) from waybill.replicas) as even`,
  );
  expect(row).toEqual({ even: true });
}

/** States in which the attempt that was sent is still open. */
const UNDER_WAY: readonly ActionState[] = ['dispatching', 'cancelling'];

/** Sent once, by the first fence; asked about, by the second one; and now in this state. */
async function sent(state: ActionState): Promise<{ id: string; fence: number; asked: number }> {
  const id = newId();
  const { fence } = (await rig.reserved(id)).reservation;
  await db.rows('update waybill.routes set fence = fence + 1 where action_id = $1', [id]);
  if (!UNDER_WAY.includes(state)) await rig.settle(id, fence, 'outcome_unknown', 'ours');
  if (state === 'reserved') {
    await force(id, 'requested', false);
    await rig.reserved(id, { attemptNo: 2 });
  } else {
    await force(id, state, state !== 'requested' && !UNDER_WAY.includes(state));
  }
  return { id, fence, asked: fence + 1 };
}

const WAYS = ['the attempt that was sent', 'a question about it'] as const;
const OUTCOMES = Object.keys(CLOSING_STATE) as ActionResult['outcome'][];
const closings = ACTION_STATES.filter(isOpenAction).flatMap((state) =>
  OUTCOMES.flatMap((outcome) => WAYS.map((way) => [state, outcome, way] as const)),
);

test.each(closings)('%s: the result %s by %s closes it', async (state, outcome, way) => {
  const { id, fence, asked } = await sent(state);
  const result = { outcome, errorCode: outcome === 'failed' ? 'no_such_list' : null, detail: null };
  const bytes = outcome === 'succeeded' ? Buffer.from('{"n":1}') : null;
  if (way === WAYS[0]) {
    const settlement = outcome === 'cancelled' ? 'cancelled' : 'completed';
    const close = { settlement, unknownCause: null, evidence: {}, result } as const;
    const written = { ...close, resultBytes: bytes };
    const answer = await closeDispatch(data(), { ...refTo(id), fence }, written, receipting(id));
    expect(answer.kind).toBe('closed');
  } else {
    const found = { kind: 'result', result, evidence: {}, adopted: null } as const;
    const written = { ...found, resultBytes: bytes };
    const at = { ...refTo(id), fence: asked };
    const answer = await concludeFencing(data(), at, written, receipting(id));
    expect(answer.kind).toBe('concluded');
  }
  const closed = { state: CLOSING_STATE[outcome], uncertain: false, outcome, open: 0 };
  expect(await factsOf(id)).toEqual(closed);
  await balances();
});

type Left = readonly [ActionState, 'certain' | 'uncertain'];

/** What the end of an attempt leaves, where nothing was in doubt before it. */
const ENDS: Readonly<Record<'reserved' | 'dispatching' | 'cancelling', Record<Settlement, Left>>> =
  {
    reserved: {
      not_started: ['requested', 'certain'],
      // Nothing was sent under it: the next look says so.
      outcome_unknown: ['unknown', 'certain'],
      lease_expired: ['unknown', 'certain'],
      // Its result closes it, in the same transaction.
      completed: ['reserved', 'certain'],
      cancelled: ['reserved', 'certain'],
    },
    dispatching: {
      not_started: ['requested', 'certain'],
      outcome_unknown: ['unknown', 'uncertain'],
      lease_expired: ['unknown', 'uncertain'],
      completed: ['dispatching', 'certain'],
      cancelled: ['dispatching', 'certain'],
    },
    cancelling: {
      // Not requested: it is to be cancelled.
      not_started: ['unknown', 'certain'],
      outcome_unknown: ['unknown', 'uncertain'],
      lease_expired: ['unknown', 'uncertain'],
      completed: ['cancelling', 'certain'],
      cancelled: ['cancelling', 'certain'],
    },
  };

/** An earlier attempt's doubt outlives the end of this one. */
function inDoubt([state]: Left): Left {
  return [state === 'requested' ? 'unknown' : state, 'uncertain'];
}

const STATES = Object.keys(ENDS) as (keyof typeof ENDS)[];
const ends = STATES.flatMap((state) =>
  SETTLEMENTS.flatMap((settlement) => {
    const left = ENDS[state][settlement];
    return [
      [state, 'certain', settlement, left] as const,
      [state, 'uncertain', settlement, inDoubt(left)] as const,
    ];
  }),
);

test.each(ends)('%s, %s: an end as %s leaves it %j', async (state, doubt, settlement, left) => {
  const id = newId();
  const { fence } = (await rig.reserved(id)).reservation;
  await force(id, state, doubt === 'uncertain');
  const cause = settlement === 'outcome_unknown' ? 'ours' : null;
  expect(await rig.settle(id, fence, settlement, cause)).toEqual({ kind: 'settled' });
  const facts = await factsOf(id);
  expect([facts?.state, facts?.uncertain === true ? 'uncertain' : 'certain']).toEqual(left);
  expect(facts).toMatchObject({ open: 0, outcome: null });
  await balances();
});

describe('a sender that is lost', () => {
  const settlementOf = async (id: string) => {
    const [row] = await db.rows(
      'select settlement, cause from waybill.route_attempts where action_id = $1',
      [id],
    );
    return row;
  };

  test('before anything was sent: it may be sent, at once', async () => {
    const id = newId();
    const { fence } = (await rig.reserved(id)).reservation;
    await settleLost(data(), { ...refTo(id), fence }, {}, sign(id));
    expect(await settlementOf(id)).toEqual({ settlement: 'not_started', cause: null });
    expect(await factsOf(id)).toMatchObject({ state: 'requested', uncertain: false, open: 0 });
  });

  test.each(['dispatching', 'cancelling'] as const)('in %s: nobody knows', async (state) => {
    const { id, fence } = await sent(state);
    const at = { ...refTo(id), fence };
    await settleLost(data(), at, {}, sign(id));
    await settleLost(data(), at, {}, sign(id));
    expect(await settlementOf(id)).toEqual({ settlement: 'outcome_unknown', cause: 'ours' });
    expect(await factsOf(id)).toMatchObject({ state: 'unknown', uncertain: true, open: 0 });
  });

  test('of an attempt that is over changes nothing', async () => {
    const { id, fence } = await sent('reserved');
    await settleLost(data(), { ...refTo(id), fence }, {}, sign(id));
    expect(await factsOf(id)).toMatchObject({ state: 'reserved', open: 1 });
  });
});

test('what is to be stopped and was never begun is cancelled by whoever clears it up', async () => {
  const id = newId();
  const { fence } = (await rig.reserved(id)).reservation;
  await beginDispatch(data(), { ...refTo(id), fence, resume: false });
  const who = { cancelledBy: 'ada', reason: 'not needed' };
  expect((await requestCancel(data(), refTo(id), who, sign(id))).kind).toBe('requested');
  const ask = { aboveFence: null, adopt: null };
  expect((await beginFencing(data(), refTo(id), ask, sign(id))).answer.kind).toBe('ask');
  await rig.settle(id, fence, 'not_started');
  expect((await beginFencing(data(), refTo(id), ask, sign(id))).answer.kind).toBe('clear');
  expect((await requestCancel(data(), refTo(id), who, sign(id))).kind).toBe('cancelled');
  expect(await factsOf(id)).toMatchObject({ state: 'cancelled', open: 0 });
});

test.each([
  [{ kind: 'not_started' }, 'cancelled'],
  [{ kind: 'needs_operator', reason: 'store_lost', detail: '' }, 'needs_operator'],
  [{ kind: 'repeatable', detail: '' }, 'needs_operator'],
  [{ kind: 'again', reason: 'timed_out', detail: '', inMs: 1 }, 'reconciling'],
] as const)('to be stopped, with nothing under way, and its host says %j', async (said, state) => {
  const { id, fence, asked } = await sent('cancelling');
  await rig.settle(id, fence, 'outcome_unknown', 'ours');
  await force(id, 'cancelling', true);
  await db.rows('update waybill.actions set cancel_requested_at = now() where action_id = $1', [
    id,
  ]);
  const found = { ...said, evidence: {}, adopted: null, resultBytes: null };
  const at = { ...refTo(id), fence: asked };
  const answer = await concludeFencing(data(), at, found, receipting(id));
  expect(answer.kind).toBe('concluded');
  expect(await factsOf(id)).toMatchObject({ state, open: 0 });
});

test('a result of an older attempt leaves the one that is under way to its own sender', async () => {
  const { id, fence } = await sent('reserved');
  const second = await newestOf(id);
  await beginDispatch(data(), { ...second, resume: false });
  const result = { outcome: 'succeeded', errorCode: null, detail: null } as const;
  const done = { settlement: 'completed', unknownCause: null, evidence: {}, result } as const;
  const first = { ...done, resultBytes: Buffer.from('{"n":1}') };
  await closeDispatch(data(), { ...refTo(id), fence }, first, receipting(id));
  expect(await factsOf(id)).toMatchObject({ state: 'completed', open: 1 });
  await balances();
  const another = { ...done, resultBytes: Buffer.from('{"n":2}') };
  const other = await closeDispatch(data(), second, another, receipting(id));
  expect(other.kind).toBe('closed');
  expect(await factsOf(id)).toMatchObject({ state: 'completed', open: 0 });
  // Two effects, if it ever comes to that, are on record.
  expect(await rig.fixture.lateEvidence('acme', id, second.fence)).toMatchObject([{ result }]);
  await balances();
});

async function newestOf(id: string): Promise<ActionRef & { readonly fence: number }> {
  const [row] = await db.rows<{ fence: string }>(
    'select fence from waybill.route_attempts where action_id = $1 order by attempt_no desc',
    [id],
  );
  return { ...refTo(id), fence: Number(row?.fence) };
}

test('a refusal for good of an older attempt is kept, and closes nothing', async () => {
  const { id, fence } = await sent('reserved');
  const second = await newestOf(id);
  await beginDispatch(data(), { ...second, resume: false });
  const errorCode = 'host_refused.unknown_capability';
  const refused = { outcome: 'failed', errorCode, detail: null } as const;
  const none = { settlement: 'not_started', unknownCause: null, evidence: {} } as const;
  const late = { ...none, result: refused, resultBytes: null };
  const answer = await closeDispatch(data(), { ...refTo(id), fence }, late, receipting(id));
  expect(answer.kind).toBe('fence_lost');
  expect(await factsOf(id)).toMatchObject({ state: 'dispatching', outcome: null, open: 1 });
  expect(await rig.fixture.lateEvidence('acme', id, fence)).toMatchObject([{ result: refused }]);
  // Of the newest attempt it is the end.
  expect((await closeDispatch(data(), second, late, receipting(id))).kind).toBe('closed');
  expect(await factsOf(id)).toMatchObject({ state: 'failed', outcome: 'failed', open: 0 });
});
