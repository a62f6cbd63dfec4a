/**
 * SIGKILL of the Postgres server and of the Temporal server while webhooks arrive, on servers of this
 * test's own. Doubled: nothing. Verdict: HTTP answers, rows, and the target's own records.
 */
import { randomUUID } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { migrate } from '../../src/db/migrations';
import { SEARCH_ATTRIBUTES } from '../../src/domain/search-attributes';
import { freePort } from '../../src/workers/embedded/ports';
import { startPostgres } from '../../src/workers/embedded/postgres-server';
import { stateFolder } from '../../src/workers/embedded/state-folder';
import { findTemporalCli } from '../../src/workers/embedded/temporal-binary';
import { startTemporal } from '../../src/workers/embedded/temporal-server';
import { insertCatalog } from '../support/catalog-fixture';
import type { CatalogFixture } from '../support/catalog-fixture';
import { INGRESS_SECRET } from '../support/fault-rig';
import { WaybillProcess } from '../support/processes';
import { Receiver } from '../support/receiver';
import { asAdmin } from '../support/template';
import { until } from '../support/until';
import { postWebhook } from '../support/vendor';

let folder: string;
let postgres: Awaited<ReturnType<typeof startPostgres>>;
let temporal: Awaited<ReturnType<typeof startTemporal>>;
let receiver: Receiver;
let api: WaybillProcess;
let worker: WaybillProcess;
let url: string;
let fixture: CatalogFixture;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'waybill-servers-'));
  chmodSync(folder, 0o755);
  const cli = await findTemporalCli({
    stateFolder: stateFolder(process.env, process.cwd()),
    env: process.env,
  });
  receiver = await Receiver.start();
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
  fixture = await insertCatalog({ rows }, { targetUrl: `${receiver.url}/hook` });
  const env = {
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    WAYBILL_HOME: folder,
    WAYBILL_PORT: '0',
    WAYBILL_HEALTH_PORT: '0',
    WAYBILL_HEARTBEAT_TIMEOUT: '1s',
    TEST_INGRESS_SECRET: INGRESS_SECRET,
  };
  api = new WaybillProcess(['api'], env);
  worker = new WaybillProcess(['worker'], env);
  url = String((await api.logged('api started'))['url']);
  await worker.logged('worker started');
});

afterAll(async () => {
  await Promise.all([api.kill(), worker.kill()]);
  await temporal.stop();
  await postgres.stop();
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function rows<R>(text: string, values: readonly unknown[] = []): Promise<R[]> {
  return await asAdmin(postgres.url, async (client) => {
    const result = await client.query(text, [...values]);
    return result.rows as R[];
  });
}

function post(id: string): Promise<Response> {
  return postWebhook({ url, ingressRef: fixture.ingressRef, secret: INGRESS_SECRET, id });
}

async function acknowledged(ids: readonly string[]): Promise<string[]> {
  return await until(
    'all are acknowledged',
    async () => {
      const done = await rows<{ delivery_id: string }>(
        `select delivery_id from waybill.deliveries
          where external_id = any($1) and state = 'Acknowledged'`,
        [ids],
      );
      return done.length === ids.length ? done.map((row) => row.delivery_id) : null;
    },
    50_000,
  );
}

test('while Temporal is gone webhooks are accepted, and delivered once it is back', async () => {
  const ids = Array.from({ length: 8 }, () => randomUUID());
  const answers: number[] = [];
  for (const [index, id] of ids.entries()) {
    if (index === 2) await temporal.kill('SIGKILL');
    answers.push((await post(id)).status);
    if (index === 5) await temporal.start();
  }
  expect(answers).toEqual(ids.map(() => 202));
  for (const deliveryId of await acknowledged(ids)) {
    expect(receiver.of(deliveryId).length).toBeGreaterThanOrEqual(1);
  }
  expect(await openAttempts()).toBe(0);
});

test('while Postgres is gone webhooks get 503 and nothing is half done; later all arrive', async () => {
  const ids = Array.from({ length: 8 }, () => randomUUID());
  const refused: string[] = [];
  for (const [index, id] of ids.entries()) {
    if (index === 3) await postgres.kill('SIGKILL');
    const answer = await post(id);
    if (answer.status !== 202) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
      refused.push(id);
    }
    if (index === 5) await postgres.start();
  }
  expect(refused.length).toBeGreaterThanOrEqual(2);
  // A vendor sends again what was not taken.
  for (const id of refused) {
    await until('it is taken', async () => ((await post(id)).status === 202 ? true : null));
  }
  await acknowledged(ids);
  const born = await rows<{ count: string }>(
    `select count(*) from waybill.deliveries where external_id = any($1) and duplicate_of is null`,
    [ids],
  );
  expect(Number(born[0]?.count)).toBe(ids.length);
  expect(await openAttempts()).toBe(0);
});

async function openAttempts(): Promise<number> {
  const [open] = await rows<{ count: string }>(
    'select count(*) from waybill.delivery_attempts where closed_at is null',
  );
  return Number(open?.count);
}
