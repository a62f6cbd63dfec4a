/**
 * What becomes of the rows of a restored database, state by state. Real: Postgres and the product's
 * functions. What Temporal remembers is given.
 */
import { beginDispatch } from '../../src/db/action-steps';
import {
  adoptAction,
  beginRecovery,
  doubtAction,
  endRecovery,
  openActions,
  recoveryStatus,
  type LostAction,
} from '../../src/db/recovery';
import { counterDifferences } from '../../src/db/route-upkeep';
import { ACTION_STATES, isOpenAction } from '../../src/domain/action-states';
import { tenantId } from '../../src/domain/ids';
import type { ActionArchive, ActionRun, ActionRunFacts } from '../../src/domain/recovery';
import { recoverAfterRestore } from '../../src/services/recovery';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { cancelAction } from '../support/test-signer';

const HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString();
const DIGEST = 'ab'.repeat(32);

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account({ quota: 'all' });
  await rig.fixture.change({ quota: { id: 'all', limits: { tenant: 50 } } });
  await rig.host({ replica: 'h1', capacity: 50 });
});
afterEach(() => db.drop());

const operations = () => db.as('waybill_operations');
const ref = (actionId: string) => ({ tenantId: tenantId('acme'), actionId });
const doubt = (actionId: string, fence: number | null) =>
  doubtAction(operations(), ref(actionId), fence);

async function rowOf(actionId: string) {
  const [row] = await db.rows<{ state: string; uncertain: boolean; reason: string | null }>(
    'select state, uncertain, reason from waybill.actions where action_id = $1',
    [actionId],
  );
  return row;
}

/** An action in that state; with a route unless it never had one. */
async function inState(state: string): Promise<void> {
  await rig.reserved(state);
  const path: Readonly<Record<string, readonly string[]>> = {
    ...{ requested: ['requested'], awaiting_approval: ['requested', 'awaiting_approval'] },
    ...{ reserved: [], dispatching: ['dispatching'], cancelling: ['dispatching', 'cancelling'] },
    ...{ unknown: ['unknown'], reconciling: ['unknown', 'reconciling'] },
    needs_operator: ['unknown', 'reconciling', 'needs_operator'],
  };
  if (!['reserved', 'dispatching', 'cancelling'].includes(state)) {
    const [row] = await db.rows<{ fence: string }>(
      'select fence from waybill.routes where action_id = $1',
      [state],
    );
    const settlement = /requested|awaiting/.test(state) ? 'not_started' : 'outcome_unknown';
    await rig.settle(state, Number(row?.fence), settlement);
  }
  for (const next of path[state] ?? []) {
    await db.rows('update waybill.actions set state = $2 where action_id = $1', [state, next]);
  }
}

const OPEN_STATES = ACTION_STATES.filter(isOpenAction);

test.each(OPEN_STATES)(
  'an action with a route that was %s is asked about before anything else is done',
  async (state) => {
    await inState(state);
    expect(await rowOf(state)).toMatchObject({ state });
    expect(await doubt(state, 0)).toBe('doubted');
    const asked = state === 'needs_operator' ? 'needs_operator' : 'reconciling';
    expect(await rowOf(state)).toMatchObject({ state: asked, uncertain: true });
    expect(await rig.reserve(state, { attemptNo: 2 })).toMatchObject({ kind: 'not_requested' });
    expect(await rig.fixture.held()).toEqual({});
    expect(await counterDifferences(operations(), 10)).toEqual([]);
    expect(await doubt(state, 0)).toBe('doubted');
    expect(await rowOf(state)).toMatchObject({ state: asked, uncertain: true });
  },
);

test('without a route it stays where it is only if it is proven that it was not sent since', async () => {
  for (const id of ['proven', 'sent', 'forgotten']) await rig.start(id);
  expect(await doubt('proven', 0)).toBe('untouched');
  expect(await rowOf('proven')).toMatchObject({ state: 'requested', uncertain: false });
  const handed = { state: 'needs_operator', uncertain: true, reason: 'route_lost' };
  expect(await doubt('sent', 7)).toBe('handed');
  expect(await rowOf('sent')).toMatchObject(handed);
  expect(await doubt('forgotten', null)).toBe('handed');
  expect(await rowOf('forgotten')).toMatchObject(handed);
});

test('a route that was taken back pins nothing: it may have been sent on the next one', async () => {
  for (const id of ['sent', 'idle']) {
    const { reservation } = await rig.reserved(id);
    await rig.settle(id, reservation.fence, 'not_started');
  }
  await db.rows(`insert into waybill.retired_routes (tenant_id, action_id, generation, route, fence,
      retired_by, reason, proof)
    select tenant_id, action_id, 1, '{}', fence, 'ada', 'moved', '{}' from waybill.routes`);
  const routes = await db.rows<{ fence: string }>(
    `update waybill.routes set retired_at = clock_timestamp() returning fence`,
  );
  const highest = Math.max(...routes.map(({ fence }) => Number(fence)));
  expect((await openActions(operations())).map(({ routed }) => routed)).toEqual([false, false]);
  expect(await doubt('idle', Math.min(...routes.map(({ fence }) => Number(fence))))).toBe(
    'untouched',
  );
  expect(await doubt('sent', highest + 1)).toBe('handed');
});

test('what is closed stays closed', async () => {
  await rig.start('over');
  await cancelAction(db, 'acme', 'over');
  expect(await doubt('over', null)).toBe('over');
  expect(await rowOf('over')).toMatchObject({ state: 'cancelled' });
});

test('what is reserved is not sent while the deployment recovers', async () => {
  const { reservation } = await rig.reserved('a1');
  await beginRecovery(operations(), 'ada');
  await db.rows(`update waybill.replicas set status = 'ready', incarnation = $1`, [
    reservation.incarnation,
  ]);
  const dispatch = { ...ref('a1'), fence: reservation.fence, resume: false };
  expect((await beginDispatch(db.as('waybill_data'), dispatch)).answer.kind).toBe('not_sendable');
  await endRecovery(operations(), 'ada');
  expect((await beginDispatch(db.as('waybill_data'), dispatch)).answer.kind).toBe('send');
});

test('a host comes back under an incarnation above all that it may have had', async () => {
  await db.rows('update waybill.replicas set incarnation = 3');
  await beginRecovery(operations(), 'ada');
  expect(await rig.call('h1', 'heartbeat')).toMatchObject({ kind: 'must_register' });
  const answer = await rig.call('h1', 'register');
  expect(answer).toMatchObject({ kind: 'accepted', status: 'registered' });
  expect(answer.kind === 'accepted' ? answer.incarnation : 0).toBeGreaterThan(1_700_000_000);
});

test('the next fence is above every one that was given out, although the rows have forgotten it', async () => {
  const { reservation } = await rig.reserved('a1');
  await rig.settle('a1', reservation.fence, 'not_started');
  const { reservation: lost } = await rig.reserved('a1', { attemptNo: 2 });
  await db.rows(`delete from waybill.route_attempts where attempt_no = 2`);
  await db.rows(`alter table waybill.routes disable trigger routes_immutable`);
  await db.rows(`update waybill.routes set fence = $1`, [reservation.fence]);
  const next = await rig.registry.resolver.nextFence(tenantId('acme'), 'a1', null);
  expect(next).toBeGreaterThan(lost.fence);
});

test('all open actions are read, in pages, across tenants', async () => {
  await db.rows(`insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256,
      state, requested_by, retry_budget, deadline_at, attend_at)
    select case n % 2 when 0 then 'acme' else 'globex' end, 'a' || n, 'tickets.create', sha256('{}'),
      'requested', 'ada', 0, now(), now() from generate_series(1, 2500) n`);
  const found = await openActions(operations());
  expect(new Set(found.map(({ actionId }) => actionId)).size).toBe(2500);
  expect(found).toHaveLength(2500);
  expect(found.every(({ routed }) => !routed)).toBe(true);
});

describe('an action whose row was lost', () => {
  const told: LostAction = {
    ...{ capabilityId: 'tickets.create', requestDigest: DIGEST, affinityKey: null, sentFence: 7 },
    ...{ startedAt: HOUR_AGO, closedAt: null, outcome: null },
  };
  const adopt = (more: Partial<LostAction> = {}) =>
    adoptAction(operations(), ref('lost'), { ...told, ...more });

  test('is for a person while its workflow has not ended, once', async () => {
    expect(await adopt()).toBe('handed');
    expect(await rowOf('lost')).toMatchObject({ state: 'needs_operator', reason: 'row_lost' });
    expect(await adopt()).toBe('known');
    expect(await rig.start('lost')).toMatchObject({ kind: 'conflict' });
    expect((await recoveryStatus(operations())).forPeople).toMatchObject([{ actionId: 'lost' }]);
  });

  test.each([
    ['succeeded', 'completed'],
    ['failed', 'failed'],
    ['cancelled', 'cancelled'],
  ] as const)('leaves a tombstone where its workflow says %s', async (outcome, state) => {
    expect(await adopt({ outcome, closedAt: HOUR_AGO })).toBe('buried');
    expect(await adopt({ outcome, closedAt: HOUR_AGO })).toBe('known');
    const { action, kind } = (await rig.start('lost')) as { action: unknown; kind: string };
    expect({ action, kind }).toMatchObject({
      ...{ kind: 'conflict' },
      action: { state, requestDigest: DIGEST, result: { outcome, errorCode: 'result_lost' } },
    });
  });

  test('is held back also where somebody has started its id since', async () => {
    await rig.reserved('lost');
    expect(await adopt()).toBe('handed');
    expect(await rowOf('lost')).toMatchObject({ state: 'needs_operator', uncertain: true });
    expect(await rig.fixture.held()).toEqual({});
  });

  test('a row that is older than its workflow was not lost', async () => {
    await rig.start('lost');
    expect(await adopt({ startedAt: new Date().toISOString() })).toBe('known');
    expect(await rowOf('lost')).toMatchObject({ state: 'requested' });
  });
});

describe('the recovery as a whole', () => {
  const run = (actionId: string, nth = 1): ActionRun => ({
    ...{ ...ref(actionId), runId: `${actionId}-${nth}` },
    startedAt: new Date(Date.parse(HOUR_AGO) + nth).toISOString(),
  });
  const facts = (more: Partial<ActionRunFacts> = {}): ActionRunFacts => ({
    ...{ capabilityId: 'tickets.create', requestDigest: DIGEST, affinityKey: null, sentFence: 0 },
    ...{ state: null, closedAt: null, ...more },
  });

  function remembering(histories: Readonly<Record<string, ActionRunFacts>>): ActionArchive {
    const runs = Object.keys(histories).map((runId) => {
      const [, id = '', nth] = /^(.*)-(\d+)$/.exec(runId) ?? [];
      return run(id, Number(nth));
    });
    return {
      async *pages() {
        for (const one of runs) yield await Promise.resolve([one]);
      },
      runsOf: ({ actionId }) => Promise.resolve(runs.filter((one) => one.actionId === actionId)),
      facts: ({ runId }) => Promise.resolve(histories[runId] ?? null),
    };
  }

  test('asks every run of an action that has no route, and goes by the newest one of a lost one', async () => {
    for (const id of ['idle', 'sent', 'unlisted']) await rig.start(id);
    await db.rows(`update waybill.actions set created_at = created_at - interval '2 hours'`);
    const archive = remembering({
      ...{ 'idle-1': facts(), 'idle-2': facts() },
      ...{ 'sent-1': facts({ sentFence: 9 }), 'sent-2': facts() },
      'twice-1': facts({ state: 'unknown', closedAt: HOUR_AGO }),
      'twice-2': facts({ state: 'completed', closedAt: HOUR_AGO }),
    });
    const report = await recoverAfterRestore({ operations: operations(), archive }, 'ada');
    expect(report).toEqual({
      open: { doubted: 0, untouched: 1, handed: 2, over: 0 },
      lost: { buried: 1, handed: 0, known: 0 },
      unreadable: [],
    });
    expect(await rowOf('idle')).toMatchObject({ state: 'requested' });
    expect(await rig.stateOf('twice')).toBe('completed');
  });

  test('names what Temporal has forgotten, too', async () => {
    const archive = { ...remembering({ 'gone-1': facts() }), facts: () => Promise.resolve(null) };
    const report = await recoverAfterRestore({ operations: operations(), archive }, 'ada');
    expect(report.unreadable).toEqual([ref('gone')]);
  });
});
