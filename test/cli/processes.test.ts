/**
 * `waybill api` and `waybill worker` as processes: health, readiness, an orderly end. Real: both
 * processes, Postgres, Temporal.
 */
import { freePort } from '../../src/workers/embedded/ports';
import { createTestDatabase, required, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';
import {
  failureOf,
  finished,
  lastFailureOf,
  newHome,
  removeHomes,
  startWaybill,
  waybill,
} from './waybill';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
  removeHomes();
});

async function environment(temporal = required('WAYBILL_TEST_TEMPORAL_ADDRESS')) {
  return {
    DATABASE_URL: db.url,
    TEMPORAL_ADDRESS: temporal,
    WAYBILL_TASK_QUEUE_PREFIX: 'cli-processes-',
    WAYBILL_HOME: newHome(),
    WAYBILL_PORT: String(await freePort()),
    WAYBILL_HEALTH_PORT: String(await freePort()),
  };
}

function statusOf(port: string, where: string): Promise<number | null> {
  return fetch(`http://127.0.0.1:${port}${where}`).then(
    ({ status }) => status,
    () => null,
  );
}

async function answers(port: string, where: string, status: number): Promise<void> {
  await until(`${where} answers ${status}`, async () =>
    (await statusOf(port, where)) === status ? true : null,
  );
}

test('a worker is ready once it polls, and ends in order when it is asked to', async () => {
  const env = await environment();
  const worker = startWaybill(['worker'], env);
  const end = finished(worker);
  await answers(env.WAYBILL_HEALTH_PORT, '/ready', 200);
  expect(await statusOf(env.WAYBILL_HEALTH_PORT, '/health')).toBe(200);
  worker.kill('SIGTERM');
  const { code, stdout } = await end;
  expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
});

test('a worker without a Temporal server is alive, not ready, and can be stopped', async () => {
  const env = await environment('127.0.0.1:1');
  const worker = startWaybill(['worker'], env);
  const end = finished(worker);
  await answers(env.WAYBILL_HEALTH_PORT, '/health', 200);
  expect(await statusOf(env.WAYBILL_HEALTH_PORT, '/ready')).toBe(503);
  worker.kill('SIGTERM');
  expect(await end).toMatchObject({ code: 0 });
});

test('an API is ready while Temporal is away, and ends in order when it is asked to', async () => {
  const env = await environment('127.0.0.1:1');
  const api = startWaybill(['api', '--serve', 'ingress'], env);
  const end = finished(api);
  await answers(env.WAYBILL_PORT, '/ready', 200);
  expect(await statusOf(env.WAYBILL_PORT, '/factory/deliveries')).toBe(404);
  const second = await waybill(['api'], env);
  const { message, code } = lastFailureOf(second);
  expect(code).toBe('port_in_use');
  expect(message).toContain('WAYBILL_PORT');
  api.kill('SIGINT');
  expect(await end).toMatchObject({ code: 0, stdout: '' });
});

test('a worker whose health port is taken says which setting changes it', async () => {
  const env = await environment();
  const holder = startWaybill(['demo-receiver', '--port', env.WAYBILL_HEALTH_PORT], env);
  const end = finished(holder);
  await answers(env.WAYBILL_HEALTH_PORT, '/ready', 200);
  const { message, code } = failureOf(await waybill(['worker'], env));
  expect(code).toBe('port_in_use');
  expect(message).toContain('WAYBILL_HEALTH_PORT');
  holder.kill('SIGTERM');
  expect(await end).toMatchObject({ code: 0 });
});
