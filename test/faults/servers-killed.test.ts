/**
 * SIGKILL of the Postgres server and of the Temporal server while webhooks arrive, on servers of this
 * test's own, in both lanes. Doubled: nothing. Verdict: HTTP answers, rows, and the target's own records.
 */
import { randomUUID } from 'node:crypto';
import { LANES } from '../../src/domain/lanes';
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
/** One of each lane. */
let fixtures: CatalogFixture[];

beforeAll(async () => {
  servers = await startOwnServers();
  receiver = await Receiver.start();
  const targetUrl = `${receiver.url}/hook`;
  fixtures = [];
  for (const lane of LANES) {
    fixtures.push(await insertCatalog(servers.db, { lane, subscription: lane, targetUrl }));
  }
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

/** To the one lane and to the other, each under an id of its own; the same ids are a repeat. */
function postBoth(id: string): Promise<Response[]> {
  return Promise.all(
    fixtures.map(({ ingressRef, lane }) =>
      postWebhook({ url, ingressRef, secret: INGRESS_SECRET, id: `${lane}-${id}` }),
    ),
  );
}
const both = (ids: readonly string[]) => ids.flatMap((id) => LANES.map((lane) => `${lane}-${id}`));

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

test('while Temporal is gone webhooks are accepted, and delivered once it is back, or at once by the loop', async () => {
  const ids = Array.from({ length: 8 }, () => randomUUID());
  const answers: number[] = [];
  for (const [index, id] of ids.entries()) {
    if (index === 2) await servers.temporal.kill('SIGKILL');
    answers.push(...(await postBoth(id)).map(({ status }) => status));
    if (index === 5) {
      await acknowledged(ids.slice(0, 6).map((of) => `express-${of}`));
      await servers.temporal.start();
    }
  }
  expect(answers).toEqual(both(ids).map(() => 202));
  for (const deliveryId of await acknowledged(both(ids))) {
    expect(receiver.of(deliveryId).length).toBeGreaterThanOrEqual(1);
  }
  expect(await openAttempts()).toBe(0);
});

test('while Postgres is gone webhooks get 503 and nothing is half done; later all arrive', async () => {
  const ids = Array.from({ length: 8 }, () => randomUUID());
  const refused: string[] = [];
  for (const [index, id] of ids.entries()) {
    if (index === 3) await servers.postgres.kill('SIGKILL');
    const answers = await postBoth(id);
    for (const answer of answers.filter(({ status }) => status !== 202)) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).not.toBeNull();
    }
    if (answers.some(({ status }) => status !== 202)) refused.push(id);
    if (index === 5) await servers.postgres.start();
  }
  expect(refused.length).toBeGreaterThanOrEqual(2);
  // A vendor sends again what was not taken.
  for (const id of refused) {
    await until('it is taken', async () => {
      const answers = await postBoth(id);
      return answers.every(({ status }) => status === 202) ? true : null;
    });
  }
  await acknowledged(both(ids));
  const born = await servers.db.rows<{ count: string }>(
    `select count(*) from waybill.deliveries where external_id = any($1) and duplicate_of is null`,
    [both(ids)],
  );
  expect(Number(born[0]?.count)).toBe(both(ids).length);
  expect(await openAttempts()).toBe(0);
});

async function openAttempts(): Promise<number> {
  const [open] = await servers.db.rows<{ count: string }>(
    'select count(*) from waybill.delivery_attempts where closed_at is null',
  );
  return Number(open?.count);
}
