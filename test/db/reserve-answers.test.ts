/**
 * Each of the ten answers to a reservation, by the circumstance that brings it about, and what it says
 * about trying again. Real: Postgres, its locks, the product's resolver as waybill_data.
 */
import { Client } from 'pg';
import { tenantId } from '../../src/domain/ids';
import type { ReserveAnswer } from '../../src/domain/routes';
import { Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
let rig: Rig;

beforeEach(async () => {
  db = await createTestDatabase();
  rig = new Rig(postgresFixture(db));
  await rig.account({ quota: 'some' });
  await rig.host({ replica: 'h1', capacity: 3 });
});
afterEach(() => db.drop());

const reserve = (action: string, attemptNo = 1) => rig.reserve(action, { attemptNo });

/** Another session keeps the only replica's row. */
async function lockedReplica(work: () => Promise<ReserveAnswer>): Promise<ReserveAnswer> {
  const holder = new Client({ connectionString: db.url });
  await holder.connect();
  try {
    await holder.query('begin; select from waybill.replicas for update');
    return await work();
  } finally {
    await holder.end();
  }
}

const quota = (tenant: number) => rig.fixture.change({ quota: { id: 'some', limits: { tenant } } });

const CIRCUMSTANCES: Readonly<Record<string, () => Promise<ReserveAnswer>>> = {
  'reserved, where there is room': () => reserve('a1'),
  'settled, by who asks again about what is over': async () => {
    await rig.run('a1', 'not_started');
    return reserve('a1');
  },
  'in_progress, for anybody but its owner': async () => {
    await rig.reserved('a1');
    return rig.reserve('a1', { owner: 'another' });
  },
  'superseded, by a newer attempt': async () => {
    await rig.run('a1', 'not_started');
    await rig.reserved('a1', { attemptNo: 2 });
    return reserve('a1');
  },
  'conflict, with another request': () => rig.reserve('a1', { requestDigest: '0'.repeat(64) }),
  'binding_unavailable, when the credential is revoked': async () => {
    await rig.fixture.change({ credential: { instance: 'main', status: 'revoked' } });
    return reserve('a1');
  },
  'replica_unavailable, when every host is full': async () => {
    for (const action of ['b1', 'b2', 'b3']) await rig.reserved(action);
    return reserve('a1');
  },
  'capacity_exceeded, when a scope is full': async () => {
    await quota(1);
    await rig.reserved('b1');
    return reserve('a1');
  },
  'rate_limited, when the instance has had its share': async () => {
    const limit = { permits: 1, perMs: 10_000, burst: 1 };
    await rig.fixture.change({ rate: { connector: 'tracker', limit } });
    await rig.reserved('b1');
    return reserve('a1');
  },
  'contended, when rows are locked': async () => {
    await rig.start('a1');
    return lockedReplica(() => reserve('a1'));
  },
};

const DETAILS: Readonly<Record<string, object>> = {
  reserved: { reservation: expect.objectContaining({ attemptNo: 1 }) as unknown },
  settled: { settlement: 'not_started', attemptNo: 1 },
  in_progress: { endsInMs: expect.any(Number) as unknown },
  superseded: { attemptNo: 2 },
  conflict: { detail: 'the action has another request' },
  binding_unavailable: { why: 'credential_revoked' },
  replica_unavailable: { why: 'at_capacity' },
  capacity_exceeded: { scope: 'tenant' },
  rate_limited: { instanceId: 'main' },
  contended: {},
};

test.each(Object.entries(CIRCUMSTANCES))('%s', async (name, bring) => {
  const kind = name.split(',')[0] ?? '';
  const answer = await bring();
  expect(answer).toMatchObject({ kind, ...DETAILS[kind] });
  if ('endsInMs' in answer) {
    expect(answer.endsInMs).toBeGreaterThan(15_000);
    expect(answer.endsInMs).toBeLessThanOrEqual(20_000);
  }
  if ('retryInMs' in answer) {
    expect(answer.retryInMs).toBeGreaterThanOrEqual(50);
    expect(answer.retryInMs).toBeLessThanOrEqual(30_000);
  }
});

test('there are ten of them', () => {
  const kinds = Object.keys(CIRCUMSTANCES).map((name) => name.split(',')[0]);
  expect(new Set(kinds).size).toBe(10);
  expect(Object.keys(DETAILS).sort()).toEqual([...new Set(kinds)].sort());
});

test('whoever waits as long as it is told is let in', async () => {
  const limit = { permits: 1, perMs: 10_000, burst: 1 };
  await rig.fixture.change({ rate: { connector: 'tracker', limit } });
  await rig.reserved('b1');
  const limited = await reserve('a1');
  if (limited.kind !== 'rate_limited') throw new Error(limited.kind);
  await rig.fixture.elapse(limited.retryInMs);
  expect((await reserve('a1')).kind).toBe('reserved');
  const { reservation } = await rig.reserved('b1');
  const other = await rig.reserve('b1', { owner: 'another' });
  if (other.kind !== 'in_progress') throw new Error(other.kind);
  await rig.fixture.elapse(other.endsInMs + 1);
  const at = { tenantId: tenantId('acme'), actionId: 'b1', fence: reservation.fence };
  expect(await rig.registry.resolver.extendReservation(at, 1_000)).toEqual({ kind: 'fence_lost' });
});
