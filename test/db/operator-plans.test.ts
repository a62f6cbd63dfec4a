/**
 * What operators look at costs about as much as it shows, however much there is. Real: Postgres, row
 * security, indexes; one real action of each tenant is multiplied by an administrator. Asserted: blocks
 * read for a page.
 */
import { approvalListStatements } from '../../src/db/approval-lists';
import { attemptListStatements } from '../../src/db/attempt-lists';
import { quotaListStatements } from '../../src/db/quota-lists';
import { replicaListStatements } from '../../src/db/replica-lists';
import { analyzeActions, manyActions, rowsWithin } from '../support/many-actions';
import type { TestDatabase } from '../support/test-database';

const LIMIT = 51;
/** A page joins its rows to three others by their keys, at a few blocks each. */
const PAGE_BLOCKS = 1_000;
/** Holders are looked for among the 2000 attempts that are open the longest. */
const HOLDER_BLOCKS = 3_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await manyActions();
  // Every fourth is in doubt, every other is settled; the oldest are open.
  await db.rows(
    `update waybill.actions set state = 'unknown', uncertain = true, uncertain_since = created_at
      where action_id like 'n-%' and substr(action_id, 3)::integer % 4 = 0`,
  );
  await db.rows(
    `update waybill.route_attempts set settled_at = opened_at, settlement = 'outcome_unknown'
      where action_id like 'n-%' and substr(action_id, 3)::integer % 2 = 0`,
  );
  // Every third waits for an approval; the others have been decided.
  await db.rows(
    `insert into waybill.approvals (tenant_id, action_id, request_sha256, state, asked_at, expires_at,
        decided_at, decided_by)
      select tenant_id, action_id, request_sha256, case when asked then 'asked' else 'approved' end,
          created_at, 'infinity', case when not asked then now() end, case when not asked then 'kate' end
        from (select *, substr(action_id, 3)::integer % 3 = 0 as asked from waybill.actions
          where action_id like 'n-%') a`,
  );
  await db.rows('vacuum analyze waybill.approvals');
  await analyzeActions(db);
  await manyReplicas();
}, 120_000);
afterAll(() => db.drop());

/** Of the other tenant come first by id; of the own ones the last are drained. */
async function manyReplicas(): Promise<void> {
  for (const [tenant, prefix, count] of [
    ['rival', 'a', 12_000],
    ['acme', 'z', 3_000],
  ] as const) {
    const columns = `tenant_id, instance_id, connector_id, version, endpoint, peer_principal_id,
      peer_principal_kind, peer_did, trust_domain, transport_profile, region, zone, capacity_class`;
    await db.rows(
      `insert into waybill.replicas (replica_id, capacity, status, ${columns})
        select $2 || '-' || lpad(n::text, 6, '0'), 5,
            case when n >= $3 - 5 then 'drained' else 'ready' end, ${columns}
          from (select * from waybill.replicas where tenant_id = $1 limit 1) r,
            generate_series(0, $3::integer - 1) n`,
      [tenant, prefix, count],
    );
  }
  await db.rows('vacuum analyze waybill.replicas');
}

const read = (
  statement: { readonly text: string },
  values: readonly unknown[],
  mostBlocks = PAGE_BLOCKS,
) => rowsWithin(db, mostBlocks, statement, values);

const LATE = '2026-01-01T02:00:00.000000Z';

test.each<[string, 'open' | 'unknown', string | null, number]>([
  ['open attempts', 'open', null, LIMIT],
  ['open attempts, later', 'open', LATE, LIMIT],
  ['the last open attempts', 'open', '2026-01-01T03:19:50.500000Z', 6],
  ['attempts in doubt', 'unknown', null, LIMIT],
  ['attempts in doubt, later', 'unknown', LATE, LIMIT],
  ['the last attempts in doubt', 'unknown', '2026-01-01T03:19:50.500000Z', 2],
])('a page of %s reads few blocks', async (_what, state, at, rows) => {
  expect(await read(attemptListStatements[state], ['acme', at, at && 'n-0', LIMIT])).toBe(rows);
});

test.each<[string, string | null, number]>([
  ['', null, LIMIT],
  [', later', LATE, LIMIT],
  [', the last', '2026-01-01T03:19:50.500000Z', 3],
])('a page of approvals that are waited for%s reads few blocks', async (_what, at, rows) => {
  const values = ['acme', at, at && 'n-0', LIMIT];
  expect(await read(approvalListStatements.waiting, values)).toBe(rows);
});

test('quota scopes and their holders are read in bounds', async () => {
  const { list, shared, holders } = quotaListStatements;
  expect(await read(list, ['acme', false, null, null, LIMIT])).toBe(4);
  expect(await read(list, ['acme', true, null, null, LIMIT])).toBe(0);
  expect(await read(shared, ['acme'])).toBe(2);
  const keys = ['acme/tracker/tickets.create', 'acme'];
  const values = ['acme', ['binding', 'tenant'], keys];
  expect(await read(holders, values, HOLDER_BLOCKS)).toBe(10);
});

test.each<[string, string | null, string | null, number]>([
  ['all', null, null, LIMIT],
  ['all, later', null, 'z-002500', LIMIT],
  ['a common state', 'ready', null, LIMIT],
  ['a common state, later', 'ready', 'z-002500', LIMIT],
  ['a rare state', 'drained', null, 5],
  ['a state that none has', 'draining', null, 0],
])('a page of replicas, %s, reads few blocks', async (_what, status, after, rows) => {
  const { list, listStatus } = replicaListStatements;
  const values = ['acme', after, LIMIT];
  const page =
    status === null ? read(list, values, 100) : read(listStatus, [...values, status], 100);
  expect(await page).toBe(rows);
});
