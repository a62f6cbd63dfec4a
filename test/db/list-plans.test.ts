/**
 * Lists of actions and routes read about as much as they show, however much there is. Real: Postgres,
 * row security, indexes. One real action of each tenant is multiplied by an administrator; what is
 * looked for is rare and old in one tenant, common in the other. Asserted: blocks read for a page.
 */
import { actionListStatements } from '../../src/db/action-lists';
import { routeListStatements } from '../../src/db/route-lists';
import { analyzeActions, manyActions, rowsWithin } from '../support/many-actions';
import type { TestDatabase } from '../support/test-database';

const LIMIT = 51;
/** A page joins its rows to others by their keys, at a few blocks each; reading them all takes thousands. */
const MOST_BLOCKS = 700;
/** A page far back costs no more than its own rows: what is newer is not read again. */
const LAST_PAGE_BLOCKS = 150;

let db: TestDatabase;
beforeAll(async () => {
  db = await manyActions();
  // Of the own tenant: the oldest are what is rare.
  await db.rows(
    `update waybill.actions set
        state = case when n < 20 then 'failed' when n < 25 then 'needs_operator' else 'completed' end,
        capability_id = case when n < 40 then 'rare' else 'common' end,
        waiting_since = case when n between 10 and 15 then created_at end,
        result_outcome = case when n < 20 then 'failed' when n >= 25 then 'succeeded' end,
        closed_at = case when n not between 20 and 24 then created_at end,
        attend_at = case when n between 20 and 24 then created_at end
      from (select substr(action_id, 3)::integer as n, action_id as id from waybill.actions
        where tenant_id = 'acme' and action_id like 'n-%') x
      where tenant_id = 'acme' and action_id = id`,
  );
  await db.rows(
    `update waybill.routes set
        replica_id = case when n < 40 then 'rare' else 'common' end,
        instance_id = case when n < 60 then 'rare' else 'common' end
      from (select substr(action_id, 3)::integer as n, action_id as id from waybill.routes
        where tenant_id = 'acme' and action_id like 'n-%') x
      where tenant_id = 'acme' and action_id = id`,
  );
  await db.rows(
    `update waybill.route_attempts set settled_at = opened_at, settlement = 'completed'
      where tenant_id = 'acme' and action_id like 'n-%' and substr(action_id, 3)::integer >= 30`,
  );
  await analyzeActions(db);
}, 120_000);
afterAll(() => db.drop());

const read = (
  statement: { readonly text: string },
  values: readonly unknown[],
  mostBlocks = MOST_BLOCKS,
) => rowsWithin(db, mostBlocks, statement, values);

const LATE = '2026-01-01T02:00:00.000000Z';
type Wanted = Partial<Record<'capability' | 'waiting' | 'from' | 'until' | 'at' | 'id', unknown>>;

test.each<[string, number, Wanted & { readonly states?: readonly string[] }]>([
  ['everything', LIMIT, {}],
  ['a later page', LIMIT, { at: LATE, id: 'n-7200' }],
  ['the last page', 11, { at: '2026-01-01T00:00:10.500000Z', id: 'n-10' }],
  ['a span of time', 10, { from: '2026-01-01T00:00:10Z', until: '2026-01-01T00:00:20Z' }],
  ['a rare capability', 40, { capability: 'rare' }],
  ['a capability that is not there', 0, { capability: 'none' }],
  ['what waits', 11, { waiting: true }],
  ['a rare state', 20, { states: ['failed'] }],
  ['a common state', LIMIT, { states: ['completed'] }],
  ['a common state, later', LIMIT, { at: LATE, id: 'n-7200', states: ['completed'] }],
  ['several states', 25, { states: ['cancelled', 'failed', 'needs_operator'] }],
  ['a rare state of a rare capability', 20, { capability: 'rare', states: ['failed'] }],
  ['a state that is not there', 0, { states: ['cancelled'] }],
])('a page of actions by %s is %i rows and few blocks', async (_what, rows, wanted) => {
  const { states, capability = null, waiting = null, from = null, until = null } = wanted;
  const { at = null, id = null } = wanted;
  const values = ['acme', capability, waiting, from, until, at, id, LIMIT];
  const { list, listStates } = actionListStatements;
  const answered =
    states === undefined ? read(list, values) : read(listStates, [...values, states]);
  expect(await answered).toBe(rows);
});

test('the last page of actions or routes costs no more than its own rows', async () => {
  const place = ['2026-01-01T00:00:10.500000Z', 'n-10', LIMIT];
  const { list } = actionListStatements;
  const none = [null, null, null, null];
  expect(await read(list, ['acme', ...none, ...place], LAST_PAGE_BLOCKS)).toBe(11);
  const routes = routeListStatements.list;
  expect(await read(routes, ['acme', null, null, ...place], LAST_PAGE_BLOCKS)).toBe(11);
});

test.each<[string, number, readonly unknown[], 'open' | 'all']>([
  ['everything', LIMIT, [null, null, null, null], 'all'],
  ['a later page', LIMIT, [null, null, LATE, 'n-7200'], 'all'],
  ['a rare replica', 40, [null, 'rare', null, null], 'all'],
  ['a rare instance', LIMIT, ['rare', null, null, null], 'all'],
  ['a rare instance, later', 10, ['rare', null, '2026-01-01T00:00:10Z', 'n-10'], 'all'],
  ['those that are open', 31, [null, null, null, null], 'open'],
  ['those that are open at a replica', 30, [null, 'rare', null, null], 'open'],
  ['those that are open at a busy replica', 0, [null, 'common', null, null], 'open'],
])('a page of routes by %s is %i rows and few blocks', async (_what, rows, wanted, open) => {
  const { list, listOpen } = routeListStatements;
  const statement = open === 'open' ? listOpen : list;
  expect(await read(statement, ['acme', ...wanted, LIMIT])).toBe(rows);
});
