/**
 * SIGKILL of the Postgres server and of the Temporal server while actions are under way, on servers of
 * this test's own. Doubled: nothing. Verdict: the provider's own records and the rows.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { QueryResultRow } from 'pg';
import type { Database, DatabaseRole } from '../../src/db/database';
import { migrate } from '../../src/db/migrations';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes';
import { freePort } from '../../src/workers/embedded/ports';
import { startPostgres } from '../../src/workers/embedded/postgres-server';
import { stateFolder } from '../../src/workers/embedded/state-folder';
import { findTemporalCli } from '../../src/workers/embedded/temporal-binary';
import { startTemporal } from '../../src/workers/embedded/temporal-server';
import { ActionFaultRig, type Lane } from '../support/action-fault-rig';
import { asAdmin } from '../support/template';
import { testPool, type TestDatabase } from '../support/test-database';

const CAPABILITIES = ['tickets.create', 'tickets.create_keyed', 'tickets.create_blind'];

let folder: string;
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let temporal: Awaited<ReturnType<typeof startTemporal>>;
let faults: ActionFaultRig;
let lane: Lane;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'waybill-action-servers-'));
  chmodSync(folder, 0o755);
  const cli = await findTemporalCli({
    stateFolder: stateFolder(process.env, process.cwd()),
    env: process.env,
  });
  postgres = await startPostgres({ stateFolder: folder, port: await freePort() });
  temporal = await startTemporal({
    executable: cli.path,
    stateFolder: folder,
    port: await freePort(),
    uiPort: await freePort(),
    databaseFile: path.join(folder, 'temporal.db'),
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  await migrate(postgres.url);
  faults = await ActionFaultRig.start({
    db: databaseOf(postgres.url),
    temporal: temporal.address,
  });
  lane = faults.lane();
  await Promise.all([faults.host(0, { providerTimeoutMs: 20_000 }), lane.worker()]);
});

afterAll(async () => {
  await faults.stop();
  await temporal.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** One that outlives its server: each query has a connection of its own. */
function databaseOf(url: string): TestDatabase {
  const pools = new Map<DatabaseRole, Database>();
  return {
    url,
    as: (role) => {
      const pool = pools.get(role) ?? testPool(url, role);
      pools.set(role, pool);
      return pool;
    },
    rows: async <R extends QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      await asAdmin(url, async (client) => (await client.query<R>(text, [...values])).rows),
    drop: async () => {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}

test.each([
  { name: 'Postgres', server: () => postgres },
  { name: 'Temporal', server: () => temporal },
])('$name is killed while the host works: the answer is written when it is back', async (of) => {
  await faults.holdAtProvider(CAPABILITIES.length);
  const refs = await Promise.all(CAPABILITIES.map((id) => lane.start(id)));
  await faults.heldAtProvider(CAPABILITIES.length);
  const server = of.server();
  await server.kill('SIGKILL');
  await faults.releaseProvider();
  await server.start();
  for (const ref of refs) {
    const row = await faults.completes(ref);
    expect(row.attempt).toMatchObject({ attemptNo: 1, settlement: 'completed' });
    await expect(faults.rig.handle(ref).result()).resolves.toEqual({ state: 'completed' });
  }
  await faults.balances();
});

test('an action that is asked for while Temporal is gone starts when it is back', async () => {
  await temporal.kill('SIGKILL');
  const ref = await lane.start();
  await temporal.start();
  await faults.completes(ref);
});
