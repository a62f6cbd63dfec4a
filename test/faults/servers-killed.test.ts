/**
 * SIGKILL of the Postgres server and of the Temporal server while webhooks arrive, on servers of this
 * test's own. Doubled: nothing. Verdict: HTTP answers, rows, and the target's own records.
 */
import { randomUUID } from 'node:crypto';
import { insertCatalog } from '../support/catalog-fixture';
import type { CatalogFixture } from '../support/catalog-fixture';
import { INGRESS_SECRET } from '../support/fault-rig';
import { startOwnServers, type OwnServers } from '../support/own-servers';
import { WaybillProcesses } from '../support/processes';
import { Receiver } from '../support/receiver';
import { until } from '../support/until';
import { postWebhook } from '../support/vendor';

let servers: OwnServers;
let receiver: Receiver;
const processes = new WaybillProcesses();
let url: string;
let fixture: CatalogFixture;

beforeAll(async () => {
  servers = await startOwnServers();
  receiver = await Receiver.start();
  fixture = await insertCatalog(servers.db, { targetUrl: `${receiver.url}/hook` });
  const env = {
    DATABASE_URL: servers.postgres.url,
    TEMPORAL_ADDRESS: servers.temporal.address,
    WAYBILL_HEARTBEAT_TIMEOUT: '1s',
    TEST_INGRESS_SECRET: INGRESS_SECRET,
  };
  const [api] = await Promise.all([processes.api([], env), processes.worker([], env)]);
  url = api.url;
});

afterAll(async () => {
  await processes.end();
  await servers.stop();
  await receiver.stop();
});

function post(id: string): Promise<Response> {
  return postWebhook({ url, ingressRef: fixture.ingressRef, secret: INGRESS_SECRET, id });
}

async function acknowledged(ids: readonly string[]): Promise<string[]> {
  return await until(
    'all are acknowledged',
    async () => {
      const done = await servers.db.rows<{ delivery_id: string }>(
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
    if (index === 2) await servers.temporal.kill('SIGKILL');
    answers.push((await post(id)).status);
    if (index === 5) await servers.temporal.start();
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
    if (index === 3) await servers.postgres.kill('SIGKILL');
    const answer = await post(id);
    if (answer.status !== 202) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
      refused.push(id);
    }
    if (index === 5) await servers.postgres.start();
  }
  expect(refused.length).toBeGreaterThanOrEqual(2);
  // A vendor sends again what was not taken.
  for (const id of refused) {
    await until('it is taken', async () => ((await post(id)).status === 202 ? true : null));
  }
  await acknowledged(ids);
  const born = await servers.db.rows<{ count: string }>(
    `select count(*) from waybill.deliveries where external_id = any($1) and duplicate_of is null`,
    [ids],
  );
  expect(Number(born[0]?.count)).toBe(ids.length);
  expect(await openAttempts()).toBe(0);
});

async function openAttempts(): Promise<number> {
  const [open] = await servers.db.rows<{ count: string }>(
    'select count(*) from waybill.delivery_attempts where closed_at is null',
  );
  return Number(open?.count);
}
