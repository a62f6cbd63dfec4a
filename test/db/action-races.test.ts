/**
 * Two steps of an action at once, over and over: whichever comes first, the end is one of those that may
 * be, its receipts tell of it once, and nothing stays counted. Real: Postgres, several connections as
 * waybill_data, receipts with real signatures. Verdicts come from the rows.
 */
import {
  beginDispatch,
  beginFencing,
  closeDispatch,
  concludeFencing,
  requestCancel,
  settleLost,
  type DispatchClose,
} from '../../src/db/action-steps';
import type { ActionRef } from '../../src/domain/action-service';
import { tenantId } from '../../src/domain/ids';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { imbalance } from '../support/recount';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { testSigner } from '../support/test-signer';

let db: TestDatabase;
let rig: Rig;
beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account();
  await rig.host({ replica: 'h1', capacity: 100 });
});
afterEach(async () => {
  expect(await imbalance(db)).toEqual([]);
  await db.drop();
});

const RACES = 12;
const data = () => db.as('waybill_data');
const refOf = (actionId: string): ActionRef => ({ tenantId: tenantId('acme'), actionId });
const sign = (actionId: string) => testSigner(refOf(actionId), {});
const receipting = (actionId: string) => ({ expected: null, sign: sign(actionId) });

async function sent(actionId: string): Promise<number> {
  const { reservation } = await rig.reserved(actionId);
  const { fence } = reservation;
  const { answer } = await beginDispatch(data(), { ...refOf(actionId), fence, resume: false });
  expect(answer.kind).toBe('send');
  return fence;
}

const close = (actionId: string, fence: number, how: DispatchClose, bytes: Buffer | null) =>
  closeDispatch(
    data(),
    { ...refOf(actionId), fence },
    { ...how, resultBytes: bytes },
    receipting(actionId),
  );
const succeed = (actionId: string, fence: number) => {
  const result = { outcome: 'succeeded', errorCode: null, detail: null } as const;
  const how = { settlement: 'completed', unknownCause: null, evidence: {}, result } as const;
  return close(actionId, fence, how, Buffer.from('{}'));
};
const cancel = (actionId: string) =>
  requestCancel(data(), refOf(actionId), { cancelledBy: 'ada', reason: 'so' }, sign(actionId));

async function ends(actionId: string) {
  const [row] = await db.rows(
    `select a.state, (select array_agg(r.kind order by r.seq) from waybill.receipts r
        where r.subject = 'action/' || a.action_id) as receipts,
        (select count(*)::integer from waybill.route_attempts t
          where t.action_id = a.action_id and t.settled_at is null) as open
      from waybill.actions a where a.action_id = $1`,
    [actionId],
  );
  return row;
}

const names = (name: string) => Array.from({ length: RACES }, (_, nth) => `${name}-${nth}`);

test('cancel against completion: done is done, whether or not the wish came first', async () => {
  const completed = { state: 'completed', open: 0 };
  for (const id of names('done')) {
    const fence = await sent(id);
    const [{ kind }] = await Promise.all([cancel(id), succeed(id, fence)]);
    const receipts =
      kind === 'too_late' ? ['action_completed'] : ['cancel_requested', 'action_completed'];
    expect(await ends(id)).toEqual({ ...completed, receipts });
  }
});

test('cancel against the request that leaves: stopped before it, or its host is told', async () => {
  for (const id of names('leaves')) {
    const { reservation } = await rig.reserved(id);
    const { fence } = reservation;
    const dispatch = { ...refOf(id), fence, resume: false };
    const [cancelled, begun] = await Promise.all([cancel(id), beginDispatch(data(), dispatch)]);
    const stopped = cancelled.kind === 'cancelled';
    expect(begun.answer.kind).toBe(stopped ? 'fence_lost' : 'send');
    expect(await ends(id)).toMatchObject(
      stopped ? { state: 'cancelled', open: 0 } : { state: 'dispatching', open: 1 },
    );
    if (!stopped) await succeed(id, fence);
  }
});

test.each(['not_started', 'result'] as const)(
  'a reconciliation that finds %s against a late answer: the answer is the result, once',
  async (kind) => {
    for (const id of names('late')) {
      const fence = await sent(id);
      await settleLost(data(), { ...refOf(id), fence }, { reason: 'worker_lost' }, sign(id));
      const ask = { aboveFence: null, adopt: null };
      const { answer } = await beginFencing(data(), refOf(id), ask, sign(id));
      if (answer.kind !== 'ask') throw new Error(answer.kind);
      const result = { outcome: 'succeeded', errorCode: null, detail: null } as const;
      const found = kind === 'result' ? { kind, result } : { kind };
      const bytes = kind === 'result' ? Buffer.from('{}') : null;
      const at = { ...refOf(id), fence: answer.fence };
      await Promise.all([
        succeed(id, fence),
        concludeFencing(
          data(),
          at,
          { ...found, evidence: {}, adopted: null, resultBytes: bytes },
          receipting(id),
        ),
      ]);
      const end = await ends(id);
      expect(end).toMatchObject({ state: 'completed', open: 0 });
      const told = end?.['receipts'] as string[];
      expect(told.filter((receipt) => receipt === 'action_completed')).toHaveLength(1);
      expect(told.at(-1)).toBe('action_completed');
    }
  },
);

test('drain against retry: what is pinned is served by the draining host, and nothing new', async () => {
  await rig.host({ replica: 'h2', capacity: 100 });
  const pinned = names('pinned');
  const routes = new Map<string, string>();
  for (const id of pinned) {
    const { route, reservation } = await rig.reserved(id);
    routes.set(id, route.replicaId);
    await rig.settle(id, reservation.fence, 'not_started');
  }
  const retries = pinned.map((id) => rig.reserved(id, { attemptNo: 2 }));
  const fresh = names('fresh').map((id) => rig.reserved(id));
  const drained = rig.call('h1', 'drain');
  for (const { route } of await Promise.all(retries)) {
    expect(route.replicaId).toBe(routes.get(route.actionId));
  }
  await Promise.all([drained, ...fresh]);
  const after = await rig.reserved('after');
  expect(after.route.replicaId).toBe('h2');
  const status = async () => {
    const [row] = await db.rows<{ status: string }>(
      `select status from waybill.replicas where replica_id = 'h1'`,
    );
    return row?.status;
  };
  await rig.call('h1', 'heartbeat');
  expect(await status()).toBe('draining');
  const open = await db.rows<{ id: string; fence: number }>(
    `select action_id as id, fence from waybill.route_attempts
      where settled_at is null and replica_id = 'h1'`,
  );
  expect(open.length).toBeGreaterThan(0);
  for (const { id, fence } of open) await rig.settle(id, fence, 'not_started');
  await rig.call('h1', 'heartbeat');
  expect(await status()).toBe('drained');
});

test('what was reserved before its instance or version was revoked is not sent after that', async () => {
  const { fence } = (await rig.reserved('a1')).reservation;
  const dispatch = { ...refOf('a1'), fence, resume: false };
  for (const [table, usual] of [
    ['connector_versions', 'active'],
    ['instances', 'enabled'],
  ] as const) {
    await db.rows(`update waybill.${table} set status = 'revoked'`);
    expect((await beginDispatch(data(), dispatch)).answer).toMatchObject({
      ...{ kind: 'not_sendable', why: 'revoked' },
    });
    await db.rows(`update waybill.${table} set status = $1`, [usual]);
  }
  expect((await beginDispatch(data(), dispatch)).answer.kind).toBe('send');
});
