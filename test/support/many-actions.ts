/** Thousands of actions of two tenants, and what a page of them costs. */
import { listStatements } from '../../src/db/lists';
import { explain } from './explaining';
import { multiply } from './multiplied';
import { fillRouting } from './routing-rows';
import { createTestDatabase, type TestDatabase } from './test-database';

/** How many actions each tenant has; pages are read as `acme`. */
const ACTIONS = { acme: 12_000, rival: 30_000 } as const;

/**
 * A database in which one real action of each tenant is multiplied: `n-0`, the oldest, and so on, a
 * second apart.
 */
export async function manyActions(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  for (const tenant of Object.keys(ACTIONS)) await fillRouting(db, tenant);
  for (const [tenant, count] of Object.entries(ACTIONS)) await multiplyHeld(db, tenant, count);
  return db;
}

/** To be called once the rows are as the test wants them: plans then know how many there are. */
export async function analyzeActions(db: TestDatabase): Promise<void> {
  await db.rows('vacuum analyze waybill.actions, waybill.routes, waybill.route_attempts');
}

/** How many rows the statement answers as the tenant `acme`; fails when it reads more blocks. */
export async function rowsWithin(
  db: TestDatabase,
  mostBlocks: number,
  { text }: { readonly text: string },
  values: readonly unknown[],
): Promise<number> {
  const { rows, blocks, plan } = await db.as('waybill_data').transaction(async (run) => {
    await run(listStatements.enterTenant, ['acme']);
    return await explain(run, text, values);
  });
  if (blocks > mostBlocks) throw new Error(JSON.stringify(plan, null, 1));
  return rows;
}

/** Copies of the tenant's held action. */
async function multiplyHeld(db: TestDatabase, tenant: string, count: number): Promise<void> {
  const instants: Record<string, string> = {
    actions: 'created_at',
    routes: 'assigned_at',
    route_attempts: 'opened_at',
  };
  for (const [table, instant] of Object.entries(instants)) {
    await multiply(db, `waybill.${table}`, {
      which: `x.tenant_id = '${tenant}' and x.action_id = 'held'`,
      count,
      changed: {
        action_id: `'n-' || n`,
        [instant]: `timestamptz '2026-01-01Z' + n * interval '1 second'`,
      },
    });
  }
}
