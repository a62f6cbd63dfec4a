/** The exposition text of a real registry: nothing is doubled, and no server is needed. */
import { createTelemetry, MAX_LABEL_SETS } from '../../src/telemetry/telemetry';

const ABOUT = {
  ...{ tenantId: 'acme', connectorId: 'github' },
  ...({ direction: 'inbound', lane: 'express' } as const),
};
const FIGURES = {
  connectors: [{ provider: 'github', state: 'active', count: 2 }],
  subscriptions: [{ tenant: 'acme', connector: 'github', count: 3 }],
  held: [],
  backlog: { queueAgeS: 1.5, openAttempts: 4 },
  sinks: [],
};
const SOON = 60_000;

test('a state is counted by tenant, connector, direction and lane', async () => {
  const telemetry = createTelemetry({ service: 'waybill-test' });
  telemetry.deliveries.reached('Received', ABOUT);
  telemetry.deliveries.reached('Received', ABOUT);
  telemetry.deliveries.reached('Failed', ABOUT);
  const text = await telemetry.text();
  expect(text).toContain('target_info{service_name="waybill-test"} 1\n');
  expect(text).toContain('# TYPE connectsoft_factory_integration_deliveries_total counter\n');
  const labels = 'tenant="acme",connector="github",direction="inbound",lane="express"';
  const name = 'connectsoft_factory_integration_deliveries_total';
  expect(text).toContain(`${name}{${labels},state="Received"} 2\n`);
  expect(text).toContain(`${name}{${labels},state="Failed"} 1\n`);
  expect(await telemetry.text()).toBe(text);
});

test('latency is a histogram in seconds that reaches from milliseconds to an hour', async () => {
  const telemetry = createTelemetry({ service: 'waybill-test' });
  telemetry.deliveries.dispatchedAfter(0.02, ABOUT);
  telemetry.deliveries.dispatchedAfter(1_000, ABOUT);
  const text = await telemetry.text();
  const name = 'connectsoft_factory_integration_delivery_latency';
  const labels = 'connector="github",direction="inbound",lane="express"';
  expect(text).toContain(`# TYPE ${name} histogram\n`);
  expect(text).toContain(`${name}_count{${labels}} 2\n`);
  expect(text).toContain(`${name}_sum{${labels}} 1000.02\n`);
  expect(text).toContain(`${name}_bucket{${labels},le="0.01"} 0\n`);
  expect(text).toContain(`${name}_bucket{${labels},le="0.025"} 1\n`);
  expect(text).toContain(`${name}_bucket{${labels},le="3600"} 2\n`);
  expect(text).toContain(`${name}_bucket{${labels},le="+Inf"} 2\n`);
});

test('tenants beyond the bound are counted together, however often it is scraped', async () => {
  const telemetry = createTelemetry({ service: 'waybill-test' });
  const reach = (tenantId: string): void => {
    telemetry.deliveries.reached('Received', { ...ABOUT, tenantId });
  };
  for (let n = 1; n <= MAX_LABEL_SETS; n += 1) reach(`tenant-${n}`);
  await telemetry.text();
  for (let n = 1; n <= MAX_LABEL_SETS; n += 1) reach(`late-${n}`);
  reach('tenant-1');
  const series = (await telemetry.text()).split('\n').filter((line) => line.includes('{tenant='));
  expect(series).toHaveLength(MAX_LABEL_SETS + 1);
  expect(series.filter((line) => line.includes('tenant="tenant-1",'))[0]).toMatch(/ 2$/);
  expect(series.filter((line) => line.includes('tenant="other",connector="other",'))).toEqual([
    expect.stringMatching(new RegExp(` ${MAX_LABEL_SETS}$`)),
  ]);
});

test('a label value cannot break the text', async () => {
  const telemetry = createTelemetry({ service: 'waybill-test' });
  telemetry.deliveries.reached('Received', { ...ABOUT, tenantId: 'a"\n\\b' });
  expect(await telemetry.text()).toContain('{tenant="a\\"\\n\\\\b",');
});

test('figures of the deployment are exported while the lease lasts, and not longer', async () => {
  const telemetry = createTelemetry({ service: 'waybill-test' });
  expect(await telemetry.text()).not.toContain('integration_connectors');
  telemetry.reportDeployment(FIGURES, performance.now() + SOON);
  const text = await telemetry.text();
  expect(text).toContain('# TYPE connectsoft_factory_integration_connectors gauge\n');
  expect(text).toContain(
    'connectsoft_factory_integration_connectors{provider="github",state="active"} 2\n',
  );
  expect(text).toContain(
    'connectsoft_factory_integration_subscriptions{tenant="acme",connector="github"} 3\n',
  );
  expect(text).toContain('waybill_open_attempts 4\n');
  expect(text).toContain('waybill_queue_age 1.5\n');
  telemetry.reportDeployment(FIGURES, performance.now());
  expect(await telemetry.text()).not.toContain('waybill_queue_age');
});

test('a process that lost the reporting exports no figures of the deployment any more', async () => {
  const telemetry = createTelemetry({ service: 'waybill-test' });
  telemetry.reportDeployment(FIGURES, performance.now() + SOON);
  await telemetry.text();
  telemetry.reportDeployment(null, performance.now() + SOON);
  const text = await telemetry.text();
  expect(text).not.toContain('connectsoft_factory_integration_connectors');
  expect(text).not.toContain('waybill_open_attempts');
});
