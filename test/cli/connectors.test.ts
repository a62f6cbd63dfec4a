/**
 * `waybill connectors` and `waybill certify`. Real: the command's process, socket, server, Postgres.
 * Doubled: the workflow of a certification, whose end is written by the test.
 */
import { Certification, ConnectorPage } from '../../src/schemas/api-connectors';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { publishFleet } from '../../src/services/publications';
import { Harness } from '../http/harness';
import { account, capability, connector, fleetOf, tracker } from '../support/fleet-texts';
import { until } from '../support/until';
import { environmentOf, failureOf, removeHomes, waybill, type Environment } from './waybill';

let h: Harness;
let env: Environment;

beforeAll(async () => {
  h = await Harness.start();
  const text = fleetOf(
    ...[capability(), connector('releaseId: pack-7'), account()],
    tracker('status: draft', `artifactDigest: ${'a'.repeat(64)}`),
  );
  const fleet = readFleet(text, loadShippedSchemes());
  await publishFleet(h.db.as('waybill_control'), fleet, 'test');
  env = await environmentOf(h, 'factory.connections.read', 'factory.connections.admin');
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

test('connectors list and show', async () => {
  const list = await waybill(['connectors', 'list'], env);
  expect(list.stdout).toMatch(/^CONNECTOR +VERSION +STATE +CERTIFICATION +CAPABILITIES +WEBHOOKS/m);
  expect(list.stdout).toMatch(/^tracker +1\.0\.0 +draft +- +work-items +no +_platform$/m);
  const draft = await waybill(['connectors', 'list', '--state', 'draft', '--json'], env);
  const page = ConnectorPage.parse(JSON.parse(draft.stdout));
  expect(page.connectors.map(({ connectorId }) => connectorId)).toEqual(['tracker']);
  const show = await waybill(['connectors', 'show', 'github', '--connector-version', '1.0.0'], env);
  expect(show.stdout).toMatch(/^release +pack-7$/m);
  expect(show.stdout).toMatch(/^WEBHOOK SCHEME$/m);
  const none = await waybill(['connectors', 'show', 'github', '--connector-version', '9'], env);
  expect(failureOf(none)).toEqual({
    code: 'not_found',
    message: 'there is no connector github of version 9',
  });
});

const CERTIFY = ['certify', 'tracker', '--connector-version', '1.0.0', '--instance', 'main'];

test('certify starts, follows to the end, and tells the case that failed', async () => {
  const started = await waybill([...CERTIFY, '--no-wait', '--json'], env);
  expect(started.code).toBe(0);
  expect(Certification.parse(JSON.parse(started.stdout))).toMatchObject({ state: 'running' });
  const following = waybill(CERTIFY, env);
  await until('it has asked', () => Promise.resolve(h.attended.length > 1 ? true : null));
  await h.db.rows(
    `update waybill.certifications set state = 'failed', finished_at = now(), results = '{"basics":
      [{"id": "basics/health", "group": "basics", "rule": "Calls: alive", "verdict": "failed",
        "why": "it is not alive", "startedAtMs": 1, "durationMs": 2,
        "exchanges": [{"sent": "GET /health", "cameBack": "500"}]}]}'`,
  );
  const { code, stdout, stderr } = await following;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^tried basics$/m);
  expect(stdout).toMatch(/^ +sent +GET \/health$/m);
  expect(stdout).toMatch(
    /^tracker 1\.0\.0 by suite \S+: failed \(0 passed, 1 failed, 0 skipped\)$/m,
  );
  expect(stderr).toMatch(/not certified: basics\/health: it is not alive \(not_certified\)$/m);
  const refused = await waybill([...CERTIFY.slice(0, -1), 'nobody'], env);
  expect(failureOf(refused)).toMatchObject({
    code: 'certification_refused',
    message: expect.stringMatching(/^nobody is no enabled instance/) as string,
  });
});
