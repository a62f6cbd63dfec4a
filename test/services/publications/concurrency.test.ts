/**
 * Publishing while others publish and route: a real Postgres, two pools of the role waybill_control,
 * reservations as waybill_data. Asserted are whole states, revisions in order, and how long routing
 * waits.
 */
import { Client } from 'pg';
import { readFleet } from '../../../src/schemas/fleet';
import { publishFleet } from '../../../src/services/publications';
import {
  account,
  binding,
  capability,
  fleetOf,
  quotaPolicy,
  replica,
  target,
  tracker,
} from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';
import { comesUp, reserve } from '../../support/reserving';
import { testPool } from '../../support/test-database';
import { until } from '../../support/until';

const { db, apply, revision } = publishing();

const SHARED = `select pg_advisory_xact_lock_shared(hashtextextended('waybill.publication', 0))`;
const EXCLUSIVE = `select pg_advisory_xact_lock(hashtextextended('waybill.publication', 0))`;

/** Holds a lock until the answered function is called. */
async function hold(text: string): Promise<() => Promise<void>> {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let held: () => void = () => undefined;
  const taken = new Promise<void>((resolve) => {
    held = resolve;
  });
  const over = db()
    .as('waybill_operations')
    .transaction(async (run) => {
      await run({ name: 'test_hold', text }, []);
      held();
      await released;
    });
  await taken;
  return async () => {
    release();
    await over;
  };
}

async function ready(): Promise<void> {
  await apply(fleetOf(capability(), tracker(), account(), binding(), replica()));
  await comesUp(db(), 'host-1');
}

async function within<Value>(limitMs: number, work: () => Promise<Value>): Promise<Value> {
  const began = performance.now();
  const value = await work();
  expect(performance.now() - began).toBeLessThan(limitMs);
  return value;
}

test('of two at once with opposite fleets each is whole, and the revisions follow one another', async () => {
  const pools = ['one', 'other'].map((name) =>
    testPool(db().url, 'waybill_control', { applicationName: name }),
  );
  const fleet = (word: string, limit: number) =>
    readFleet(
      fleetOf(
        `kind: Settings\nreplayWindowMinutes: ${limit}\n`,
        quotaPolicy(`limits: { binding: ${limit} }`),
        ...['a', 'b', 'c'].map((id) => target(`id: ${id}`, `http: { url: http://${word}.test/ }`)),
      ),
      new Map(),
    );
  const state = () =>
    db().rows(`select
        (select string_agg(distinct config->>'url', ' ') from waybill.targets) as urls,
        (select binding_limit from waybill.quota_policies) as held,
        (select replay_window_minutes from waybill.settings) as minutes`);
  const whole = (word: string, limit: number) => [
    { urls: `http://${word}.test/`, held: limit, minutes: limit },
  ];
  try {
    for (let round = 1; round <= 8; round += 1) {
      const before = await revision();
      const both = await Promise.all([
        publishFleet(pools[0] ?? db().as('waybill_control'), fleet('one', 10 + round), 'one'),
        publishFleet(pools[1] ?? db().as('waybill_control'), fleet('other', 50 + round), 'other'),
      ]);
      const first = both[0].revision;
      const second = both[1].revision;
      expect(Math.min(first, second)).toBe(before + 1);
      expect(Math.max(first, second)).toBe(before + 2);
      const last = first > second ? whole('one', 10 + round) : whole('other', 50 + round);
      expect(await state()).toEqual(last);
    }
  } finally {
    await Promise.all(pools.map((pool) => pool.close()));
  }
  const subjects = await db().rows<{ subject: string }>(
    `select subject from waybill.audit_log order by audit_id`,
  );
  expect(subjects.map(({ subject }) => subject)).toEqual(
    Array.from({ length: 16 }, (_, nth) => `catalog/${nth + 1}`),
  );
});

test('of two that change an instance to the same revision the later one is refused', async () => {
  await ready();
  const changed = (region: string) =>
    apply(account('configRevision: 2', `config: { region: ${region} }`));
  const both = await Promise.allSettled([changed('eu'), changed('us')]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const refused = both.find((one) => one.status === 'rejected');
  expect(refused?.reason).toMatchObject({ code: 'revision_not_newer' });
  expect(await revision()).toBe(2);
});

test('a pause that comes while a publication waits is not undone by it', async () => {
  await ready();
  const hook = `kind: Subscription\ntenant: acme\nid: hook\ninstance: main\ntarget: ci\neventTypes: ['*']\n`;
  await apply(fleetOf(account('grants: [source, tool]', 'configRevision: 2'), target(), hook));
  const release = await hold(SHARED);
  const published = apply(fleetOf(hook.replace(`['*']`, '[push]'), target('id: other')));
  await blocked();
  await db().rows(
    `update waybill.subscriptions set state = 'paused', pause_reason = 'target_gone'`,
  );
  await release();
  const { changes } = await published;
  expect(changes.map(({ id, fields }) => [id, fields.map(({ field }) => field)])).toEqual([
    ['other', expect.anything()],
    ['hook', ['eventTypes']],
  ]);
  const [row] = await db().rows(
    'select state, pause_reason, event_types from waybill.subscriptions',
  );
  expect(row).toEqual({ state: 'paused', pause_reason: 'target_gone', event_types: ['push'] });
});

/** Until a publisher waits for those who route. */
const blocked = () =>
  until('a publisher waits for the publication lock', async () => {
    const waiting = await db().rows(
      `select from pg_locks l join pg_stat_activity a using (pid)
        where l.locktype = 'advisory' and not l.granted and l.mode = 'ExclusiveLock'
          and a.datname = current_database()`,
    );
    return waiting.length > 0 ? true : null;
  });

describe('routing', () => {
  test('that comes behind a waiting publisher waits for a moment only', async () => {
    await ready();
    const release = await hold(SHARED);
    const published = apply(target());
    await blocked();
    const answer = await within(2_000, () => reserve(db(), 'first'));
    expect(answer).toMatchObject({ kind: 'reserved', route: { catalogRevision: 1 } });
    await release();
    expect(await published).toMatchObject({ revision: 2 });
    expect(await reserve(db(), 'second')).toMatchObject({ route: { catalogRevision: 2 } });
  });

  test('that a stuck publisher keeps waiting is told to come back, within about a second', async () => {
    await ready();
    const release = await hold(EXCLUSIVE);
    const told = await within(1_900, () => reserve(db(), 'first'));
    expect(told).toEqual({ kind: 'contended', retryInMs: 50 });
    await release();
    expect(await reserve(db(), 'first')).toMatchObject({ kind: 'reserved' });
  });

  test('goes on while a publisher takes long to write, whatever it publishes', async () => {
    await ready();
    // It gets no further than to the account.
    const holder = new Client({ connectionString: db().url });
    await holder.connect();
    await holder.query('begin; select from waybill.instances for update');
    const grown = replica('id: host-1', 'capacity: 9');
    const changed = account('config: { url: x }', 'configRevision: 2');
    const published = apply(fleetOf(changed, grown, replica('id: host-2')));
    await until('the publisher waits', async () => {
      const waiting = await db().rows(
        `select from pg_locks where not granted and locktype in ('transactionid', 'tuple')`,
      );
      return waiting.length > 0 ? true : null;
    });
    for (const action of ['first', 'second', 'third']) {
      const answer = await within(700, () => reserve(db(), action));
      expect(answer).toMatchObject({ kind: 'reserved', route: { catalogRevision: 1 } });
    }
    await holder.end();
    expect(await published).toMatchObject({ revision: 2 });
  });

  test('waits for no host that is new: those are written before', async () => {
    await ready();
    const release = await hold(SHARED);
    const published = apply(fleetOf(replica('id: host-2'), target()));
    await blocked();
    const [written] = await db().rows(
      `select l.mode from pg_locks l join pg_locks w using (pid)
        where l.relation = 'waybill.replicas'::regclass and l.mode = 'RowExclusiveLock'
          and w.locktype = 'advisory' and not w.granted`,
    );
    expect(written).toEqual({ mode: 'RowExclusiveLock' });
    await release();
    expect(await published).toMatchObject({ revision: 2 });
  });
});
