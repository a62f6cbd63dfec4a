/**
 * What operators look at costs about as much as it shows, however much there is. Real: Postgres, row
 * security, indexes; one real action of each tenant is multiplied by an administrator. Asserted: blocks
 * read for a page.
 */
import { attemptListStatements } from '../../src/db/attempt-lists';
import { listStatements } from '../../src/db/lists';
import { quotaListStatements } from '../../src/db/quota-lists';
import { fillRouting } from '../support/routing-rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

const LIMIT = 51;
/** A page joins its rows to three others by their keys, at a few blocks each. */
const PAGE_BLOCKS = 1_000;
/** Holders are looked for among the 2000 attempts that are open the longest. */
const HOLDER_BLOCKS = 3_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
  await fillRouting(db, 'acme');
  await fillRouting(db, 'rival');
  // Neither triggers nor foreign keys: thousands of actions cannot be lived through one by one.
  await db.rows(`set session_replication_role = replica`);
  await multiply('acme', 12_000);
  await multiply('rival', 30_000);
  // Every fourth is in doubt, every other is settled; the oldest are open.
  await db.rows(
    `update waybill.actions set state = 'unknown', uncertain = true, uncertain_since = created_at
      where action_id like 'n-%' and substr(action_id, 3)::integer % 4 = 0`,
  );
  await db.rows(
    `update waybill.route_attempts set settled_at = opened_at, settlement = 'outcome_unknown'
      where action_id like 'n-%' and substr(action_id, 3)::integer % 2 = 0`,
  );
  await db.rows('vacuum analyze waybill.actions, waybill.routes, waybill.route_attempts');
}, 120_000);
afterAll(() => db.drop());

/** Copies of the tenant's held action, n-0 the oldest. */
async function multiply(tenant: string, count: number): Promise<void> {
  const instants: Record<string, string> = {
    actions: 'created_at',
    routes: 'assigned_at',
    route_attempts: 'opened_at',
  };
  for (const [table, instant] of Object.entries(instants)) {
    await db.rows(
      `insert into waybill.${table} select (jsonb_populate_record(x, jsonb_build_object(
          'action_id', 'n-' || n, '${instant}', timestamptz '2026-01-01Z' + n * interval '1 second'))).*
        from waybill.${table} x, generate_series(0, $2::integer - 1) n
        where x.tenant_id = $1 and x.action_id = 'held'`,
      [tenant, count],
    );
  }
}

interface Plan {
  readonly 'Actual Rows': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

async function read(text: string, values: readonly unknown[], mostBlocks = PAGE_BLOCKS) {
  const [row] = await db.as('waybill_data').transaction(async (run) => {
    await run(listStatements.enterTenant, ['acme']);
    return run({ name: '', text: `explain (analyze, buffers, format json) ${text}` }, values);
  });
  const plans = row?.['QUERY PLAN'] as readonly { readonly Plan: Plan }[];
  const plan = plans[0]?.Plan;
  if (plan === undefined) throw new Error('no plan');
  const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  if (blocks > mostBlocks) throw new Error(JSON.stringify(plans, null, 1));
  return plan['Actual Rows'];
}

const LATE = '2026-01-01T02:00:00.000000Z';

test.each<[string, 'open' | 'unknown', string | null, number]>([
  ['open attempts', 'open', null, LIMIT],
  ['open attempts, later', 'open', LATE, LIMIT],
  ['the last open attempts', 'open', '2026-01-01T03:19:50.500000Z', 6],
  ['attempts in doubt', 'unknown', null, LIMIT],
  ['attempts in doubt, later', 'unknown', LATE, LIMIT],
  ['the last attempts in doubt', 'unknown', '2026-01-01T03:19:50.500000Z', 2],
])('a page of %s reads few blocks', async (_what, state, at, rows) => {
  const { text } = attemptListStatements[state];
  expect(await read(text, ['acme', at, at && 'n-0', LIMIT])).toBe(rows);
});

test('quota scopes and their holders are read in bounds', async () => {
  const { list, shared, holders } = quotaListStatements;
  expect(await read(list.text, ['acme', false, null, null, LIMIT])).toBe(4);
  expect(await read(list.text, ['acme', true, null, null, LIMIT])).toBe(0);
  expect(await read(shared.text, ['acme'])).toBe(2);
  const keys = ['acme/tracker/tickets.create', 'acme'];
  const values = ['acme', ['binding', 'tenant'], keys];
  expect(await read(holders.text, values, HOLDER_BLOCKS)).toBe(10);
});
