/**
 * The connection layer against a real Postgres: exact numbers, conflicts that are tried again, and
 * connections that break. Conflicts come from real concurrent transactions.
 */
import type { Database, Run } from '../../src/db/database';
import { freePort } from '../../src/workers/embedded/ports';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase, testPool } from '../support/test-database';
import { until } from '../support/until';

const UNAVAILABLE = { code: 'storage_unavailable', status: 503, retryable: true };

let db: TestDatabase;
let pool: Database;

beforeAll(async () => {
  db = await createTestDatabase();
  await db.rows('create table waybill.counters (name text primary key, value integer not null)');
  await db.rows('grant all on waybill.counters to waybill_data');
  pool = db.as('waybill_data');
});
beforeEach(() =>
  db.rows(`insert into waybill.counters values ('a', 0), ('b', 0)
  on conflict (name) do update set value = 0`),
);
afterAll(() => db.drop());

const sql = (text: string) => ({ name: `test ${text}`.slice(0, 60), text });
const add = (run: Run, name: string) =>
  run(sql('update waybill.counters set value = value + 1 where name = $1'), [name]);
const counters = async () => {
  const rows = await db.rows<{ value: number }>('select value from waybill.counters order by name');
  return rows.map(({ value }) => value);
};

describe('a snapshot', () => {
  test('is one instant, whatever others commit meanwhile, and writes nothing', async () => {
    const count = sql('select sum(value)::integer as sum from waybill.counters');
    await pool.snapshot(async (run) => {
      const before = await run(count, []);
      await pool.transaction((other) => add(other, 'a'));
      expect(await run(count, [])).toEqual(before);
    });
    expect(await counters()).toEqual([1, 0]);
    await expect(pool.snapshot((run) => add(run, 'a'))).rejects.toThrow();
    expect(await counters()).toEqual([1, 0]);
  });
});

describe('int8', () => {
  test('is a number that compares and adds as one', async () => {
    const [row] = await pool.query(sql('select 9::bigint as active, 10::bigint as capacity'), []);
    expect(row).toEqual({ active: 9, capacity: 10 });
    const [counted] = await pool.query(sql('select count(*) as n from waybill.counters'), []);
    expect(counted).toEqual({ n: 2 });
  });

  test('is exact up to what a number holds, and refused beyond', async () => {
    const largest = sql('select 9007199254740991::bigint as fence');
    expect(await pool.query(largest, [])).toEqual([{ fence: Number.MAX_SAFE_INTEGER }]);
    const beyond = sql('select 9007199254740993::bigint as fence');
    await expect(pool.query(beyond, [])).rejects.toThrow('an int8 is out of range');
    expect(await pool.query(sql('select 1 as one'), [])).toEqual([{ one: 1 }]);
  });
});

describe('a conflict', () => {
  /** Both first take their own row and then, once both have, the other's: a deadlock. */
  function crossing(): (first: string, second: string) => Promise<number> {
    let runs = 0;
    let meet: () => void = () => undefined;
    const met = new Promise<void>((resolve) => (meet = resolve));
    return (first, second) => {
      let own = 0;
      return pool.transaction(async (run) => {
        own += 1;
        runs += 1;
        await add(run, first);
        if (runs >= 2) meet();
        await met;
        await add(run, second);
        return own;
      });
    };
  }

  test('by deadlock is tried again from the start, and both transactions are done once', async () => {
    const cross = crossing();
    const runs = await Promise.all([cross('a', 'b'), cross('b', 'a')]);
    expect(Math.max(...runs)).toBeGreaterThan(1);
    expect(await counters()).toEqual([2, 2]);
  });

  test('of serialization is tried again until it is through', async () => {
    const others = db.as('waybill_operations');
    await db.rows('grant all on waybill.counters to waybill_operations');
    let runs = 0;
    await pool.transaction(async (run) => {
      runs += 1;
      await run(sql('set transaction isolation level repeatable read'), []);
      await run(sql('select value from waybill.counters'), []);
      if (runs < 3) await others.transaction((other) => add(other, 'a'));
      await add(run, 'a');
    });
    expect(runs).toBe(3);
    expect(await counters()).toEqual([3, 0]);
  });

  test('that never ends is given up after five tries, with nothing written', async () => {
    const others = db.as('waybill_operations');
    let runs = 0;
    const losing = pool.transaction(async (run) => {
      runs += 1;
      await run(sql('set transaction isolation level repeatable read'), []);
      await add(run, 'b');
      await others.transaction((other) => add(other, 'a'));
      await add(run, 'a');
    });
    await expect(losing).rejects.toMatchObject(UNAVAILABLE);
    expect(runs).toBe(5);
    expect(await counters()).toEqual([5, 0]);
  });

  test('another failure is not tried again, and leaves nothing', async () => {
    let runs = 0;
    const failing = pool.transaction(async (run) => {
      runs += 1;
      await add(run, 'a');
      await run(sql(`insert into waybill.counters values ('b', 1)`), []);
    });
    await expect(failing).rejects.toMatchObject({ code: '23505' });
    expect([runs, ...(await counters())]).toEqual([1, 0, 0]);
  });
});

describe('a connection that breaks', () => {
  const kill = (application: string) =>
    db.rows(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and application_name = $1`,
      [application],
    );

  const gone = (application: string) =>
    until('its backend has ended', async () => {
      const text = `select from pg_stat_activity
        where datname = current_database() and application_name = $1`;
      return (await db.rows(text, [application])).length === 0 ? true : null;
    });

  test('while idle is noticed, thrown away and replaced', async () => {
    const broken: Error[] = [];
    const idle = testPool(db.url, 'waybill_data', {
      applicationName: 'waybill-idle',
      onIdleError: (error) => broken.push(error),
    });
    await idle.query(sql('select 1 as one'), []);
    await kill('waybill-idle');
    await until('the broken connection is noticed', () => Promise.resolve(broken[0]));
    expect(await idle.query(sql('select 2 as two'), [])).toEqual([{ two: 2 }]);
    await idle.close();
  });

  test('between two statements of a transaction is storage_unavailable, and uses up no pool', async () => {
    const small = testPool(db.url, 'waybill_data', {
      maxConnections: 2,
      applicationName: 'waybill-dying',
    });
    for (let nth = 0; nth < 5; nth += 1) {
      const dying = small.transaction(async (run) => {
        await add(run, 'a');
        await kill('waybill-dying');
        await gone('waybill-dying');
        await add(run, 'a');
      });
      await expect(dying).rejects.toMatchObject(UNAVAILABLE);
    }
    expect(await small.query(sql('select 1 as one'), [])).toEqual([{ one: 1 }]);
    expect(await counters()).toEqual([0, 0]);
    await small.close();
  });

  test('of a server that is not there is storage_unavailable', async () => {
    const nobody = new URL(db.url);
    nobody.port = String(await freePort());
    const away = testPool(nobody.toString(), 'waybill_data');
    await expect(away.query(sql('select 1'), [])).rejects.toMatchObject(UNAVAILABLE);
    await away.close();
  });
});

describe('a pool', () => {
  test('has bounds: a statement that takes too long is storage_unavailable', async () => {
    const hasty = testPool(db.url, 'waybill_data', { statementTimeoutMs: 100 });
    await expect(hasty.query(sql('select pg_sleep(30)'), [])).rejects.toMatchObject(UNAVAILABLE);
    await hasty.close();
  });

  test('all of whose connections are taken answers within its bound', async () => {
    const one = testPool(db.url, 'waybill_data', { maxConnections: 1 });
    await one.transaction(async () => {
      await expect(one.query(sql('select 1'), [])).rejects.toMatchObject(UNAVAILABLE);
    });
    await one.close();
  });

  test.each([
    ['on', 1],
    ['off', 0],
  ] as const)('with prepared statements %s leaves %i on its connection', async (mode, left) => {
    const one = testPool(db.url, 'waybill_data', { maxConnections: 1, preparedStatements: mode });
    await one.query({ name: 'test_kept', text: 'select 1 as one' }, []);
    const seen = { name: '', text: `select from pg_prepared_statements where name = 'test_kept'` };
    expect(await one.query(seen, [])).toHaveLength(left);
    await one.close();
  });
});
