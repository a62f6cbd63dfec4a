/**
 * Starts that fail half way leave nothing open. Real: Postgres, sockets. Asserted: connections that
 * the server counts, ports that nobody listens at.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import pino from 'pino';
import { parseConfig, type Config } from '../../src/schemas/config';
import { startApi } from '../../src/workers/api-process';
import { freePort } from '../../src/workers/embedded/ports';
import { QUEUES } from '../../src/domain/workflow-ids';
import { startWorker } from '../../src/workers/worker-process';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

const log = pino({ level: 'silent' });
let db: TestDatabase;
let home: string;
let taken: Server;
let takenPort: string;
beforeAll(async () => {
  db = await createTestDatabase();
  home = await mkdtemp(path.join(tmpdir(), 'waybill-starts-'));
  taken = createServer().listen(0, '127.0.0.1');
  await new Promise((listening) => taken.once('listening', listening));
  takenPort = String((taken.address() as AddressInfo).port);
});
afterAll(async () => {
  await new Promise((closed) => taken.close(closed));
  await db.drop();
  await rm(home, { recursive: true });
});

const config = (more: Readonly<Record<string, string>>): Config =>
  parseConfig({ DATABASE_URL: db.url, WAYBILL_HOME: home, ...more });

/** Resolves when no pool of Waybill holds a connection to this database. */
function allClosed(): Promise<true> {
  return until('every pool is closed', async () => {
    const [row] = await db.rows<{ open: number }>(
      `select count(*)::integer as open from pg_stat_activity
        where datname = current_database()
          and application_name in ('waybill-data', 'waybill-operations')`,
    );
    return row?.open === 0 ? true : null;
  });
}

test('an API whose port is taken closes its metrics and its pool', async () => {
  const metricsPort = await freePort();
  const settings = config({
    WAYBILL_PORT: takenPort,
    WAYBILL_METRICS_PORT: String(metricsPort),
  });
  const starting = startApi(
    settings,
    { serve: { api: true, ingress: true, lifecycle: true, admin: true, grpc: false } },
    log,
  );
  await expect(starting).rejects.toThrow(takenPort);
  await expect(fetch(`http://127.0.0.1:${metricsPort}/metrics`)).rejects.toThrow();
  await allClosed();
});

test('a worker that has one of its databases alone closes its pools', async () => {
  const away = { WAYBILL_OPERATIONS_DATABASE_URL: 'postgres://127.0.0.1:1/none' };
  const starting = startWorker(config(away), { queues: QUEUES }, log);
  await expect(starting).rejects.toMatchObject({ code: 'storage_unavailable' });
  await allClosed();
});

test('a worker whose signing key cannot be read closes its pools', async () => {
  const keyless = { WAYBILL_SIGNING_KEY: 'env:WAYBILL_TEST_NO_SUCH_KEY' };
  await expect(startWorker(config(keyless), { queues: QUEUES }, log)).rejects.toMatchObject({
    ...{ code: 'config_invalid', field: 'WAYBILL_SIGNING_KEY' },
  });
  await allClosed();
});
