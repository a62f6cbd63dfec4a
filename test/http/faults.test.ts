/**
 * Postgres away: 503 and nothing half done. Real: a closed port, a backend that is terminated under
 * a request. Asserted: answers, rows, and that the same request succeeds later.
 */
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Database } from '../../src/db/database';
import { WaybillError } from '../../src/domain/errors';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { testPool } from '../support/test-database';
import { until } from '../support/until';
import { Harness, problem } from './harness';

describe('while Postgres is away', () => {
  let h: Harness;
  let hook: CatalogFixture;
  let nowhere: Database;
  let base: string;
  let stop: () => Promise<unknown>;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db);
    nowhere = testPool(`postgres://nobody@127.0.0.1:${await closedPort()}/none`, 'waybill_data');
    const app = await h.alsoServe({
      data: nowhere,
      ready: () => Promise.resolve({ ready: false, checks: { postgres: 'no answer', keys: 'ok' } }),
    });
    base = app.base;
    stop = () => app.close();
  });
  afterAll(async () => {
    await stop();
    await nowhere.close();
    await h.stop();
  });

  it('an ingress answers 503 with Retry-After, and the same request is accepted later', async () => {
    const answer = await h.post(hook.ingressRef, '{}', { base, id: 'again' });
    expect(problem(answer)).toMatchObject({ status: 503, code: 'storage_unavailable' });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(h.started).toEqual([]);
    const later = await h.post(hook.ingressRef, '{}', { id: 'again' });
    expect(later.body['outcome']).toBe('accepted');
  });

  it('the API answers 503 and says nothing of the inside', async () => {
    const answer = await h.call('/factory/deliveries', { base });
    expect(problem(answer).code).toBe('storage_unavailable');
    expect(JSON.stringify(answer.body)).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
  });

  it('the process is alive and says which check failed', async () => {
    expect((await h.call('/health', { base, token: null })).status).toBe(200);
    const ready = await h.call('/ready', { base, token: null });
    expect(problem(ready)).toMatchObject({
      status: 503,
      code: 'not_ready',
      detail: 'postgres: no answer',
      checks: { postgres: 'no answer', keys: 'ok' },
    });
  });
});

describe('when Postgres goes away under a request', () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db);
  });
  afterAll(() => h.stop());

  it('it is answered 503 and leaves nothing behind', async () => {
    // Holds the ingest statement at its last insert, so that all before it must be undone.
    await h.db.rows('begin');
    await h.db.rows('lock table waybill.deliveries in access exclusive mode');
    const answering = h.post(hook.ingressRef, '{"n":1}', { id: 'cut' });
    const held = await until('the ingest statement waits', async () => {
      const [found] = await h.db.rows<{ pid: number }>(
        `select pid from pg_locks
          where not granted and relation = 'waybill.deliveries'::regclass
            and database = (select oid from pg_database where datname = current_database())`,
      );
      return found;
    });
    await h.db.rows('select pg_terminate_backend($1)', [held.pid]);
    await h.db.rows('rollback');
    expect(problem(await answering)).toMatchObject({ status: 503, code: 'storage_unavailable' });
    expect(await h.stored()).toEqual([]);
    expect(await h.dedupKeys()).toBe(0);
    expect(await h.db.rows('select from waybill.artifacts')).toEqual([]);
    const again = await h.post(hook.ingressRef, '{"n":1}', { id: 'cut' });
    expect(again.body['outcome']).toBe('accepted');
  });
});

describe('a fault of our own', () => {
  it('is answered 500 without its message, and the log has it', async () => {
    const h = await Harness.start({
      replay: () => Promise.reject(new Error('the inside of it')),
    });
    try {
      const path = '/factory/deliveries/0198c1f0-0000-7000-8000-000000000000/replay';
      const answer = await h.call(path, { json: { reason: 'why not' } });
      expect(problem(answer)).toMatchObject({ status: 500, code: 'internal' });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(JSON.stringify(answer.body)).not.toContain('inside of it');
      expect(h.log.join('\n')).toContain('the inside of it');
    } finally {
      await h.stop();
    }
  });

  it('that the catalogue calls internal keeps its detail to itself', async () => {
    const h = await Harness.start({
      replay: () => Promise.reject(new WaybillError('internal', 'a chain kept moving')),
    });
    try {
      const path = '/factory/deliveries/0198c1f0-0000-7000-8000-000000000000/replay';
      const answer = await h.call(path, { json: { reason: 'why not' } });
      expect(JSON.stringify(answer.body)).not.toContain('chain kept moving');
    } finally {
      await h.stop();
    }
  });
});

async function closedPort(): Promise<number> {
  const server = createTcpServer();
  await new Promise<void>((done) => {
    server.listen(0, '127.0.0.1', done);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}
