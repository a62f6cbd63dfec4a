/** Metrics as Prometheus gets them: over real sockets, from the API's server and from a worker's. */
import pino from 'pino';
import { parseConfig } from '../../src/schemas/config';
import { createTelemetry } from '../../src/telemetry/telemetry';
import { freePort } from '../../src/workers/embedded/ports';
import { startHealthServer } from '../../src/workers/health';
import { ingressCounting } from '../../src/workers/ingress-counting';
import { Harness } from '../http/harness';
import { insertCatalog } from '../support/catalog-fixture';
import type { CatalogFixture } from '../support/catalog-fixture';

const telemetry = createTelemetry({ service: 'waybill-test' });
let harness: Harness;
let fixture: CatalogFixture;

beforeAll(async () => {
  harness = await Harness.start({ count: ingressCounting(telemetry) });
  fixture = await insertCatalog(harness.db, { eventTypes: ['push'] });
});
afterAll(async () => {
  await harness.stop();
});

const scrape = (url: string) => fetch(`${url}/metrics`);

test('the port that vendors reach shows no metrics: they name tenants', async () => {
  expect((await scrape(harness.url)).status).toBe(404);
});

test('the API tells Prometheus what became of each request to an ingress', async () => {
  const { ingressRef } = fixture;
  await harness.post(ingressRef, '{"n":1}', { id: 'one' });
  await harness.post(ingressRef, '{"n":1}', { id: 'one' });
  await harness.post(ingressRef, '{"n":2}', { id: 'one' });
  await harness.post(ingressRef, '{"n":3}', { secret: 'a wrong one' });
  await harness.post(ingressRef, '{"n":4}', { event: 'issues' });
  const text = await telemetry.text();
  const labels = 'tenant="acme",connector="github"';
  const delivery = (state: string, count: number) =>
    `integration_deliveries_total{${labels},direction="inbound",lane="durable",state="${state}"} ${count}\n`;
  expect(text).toContain(delivery('Received', 1));
  expect(text).toContain(delivery('Deduplicated', 2));
  expect(text).toContain(delivery('Rejected', 1));
  for (const outcome of ['accepted', 'duplicate', 'conflict', 'refused', 'ignored']) {
    expect(text).toContain(`waybill_ingress_requests_total{${labels},outcome="${outcome}"} 1\n`);
  }
});

test('an unknown ingress makes no label', async () => {
  await harness.post('nobody-listens-here', '{}');
  expect(await telemetry.text()).not.toContain('nobody');
});

test('a worker serves its metrics beside its health', async () => {
  const port = await freePort();
  const config = parseConfig({ WAYBILL_HEALTH_PORT: String(port) });
  const server = await startHealthServer(config, pino({ level: 'silent' }), {
    polling: () => true,
    metrics: telemetry.text,
  });
  const answer = await scrape(`http://127.0.0.1:${port}`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await answer.text()).toContain('target_info{service_name="waybill-test"} 1\n');
  await server.close();
});
