/**
 * `waybill connectors` and `waybill certify`. Real: the command's process, socket, server, Postgres.
 * Doubled: the workflow of a certification, whose end is written by the test.
 */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { SUITE_VERSION } from '../../src/domain/conformance';
import { Certification, ConnectorPage } from '../../src/schemas/api-connectors';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { publishFleet } from '../../src/services/publications';
import { Harness } from '../http/harness';
import { account, capability, connector, fleetOf, tracker } from '../support/fleet-texts';
import { until } from '../support/until';
import {
  environmentOf,
  failureOf,
  newHome,
  removeHomes,
  waybill,
  type Environment,
} from './waybill';

let h: Harness;
let env: Environment;
let folder: string;
const SCOPES = ['factory.connections.read', 'factory.connections.admin'];

beforeAll(async () => {
  h = await Harness.start();
  const text = fleetOf(
    ...[capability(), connector('releaseId: pack-7'), account()],
    tracker('status: draft', `artifactDigest: ${'a'.repeat(64)}`),
  );
  const fleet = readFleet(text, loadShippedSchemes());
  await publishFleet(h.db.as('waybill_control'), fleet, 'test');
  env = await environmentOf(h, ...SCOPES);
  folder = newHome();
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

describe('certify --report', () => {
  const REPORT = '{"kind":"waybill-conformance-report","counts":{"passed":1},"name":"Zoë"}';

  test('is refused at once where nothing could be written, and nothing is asked', async () => {
    const asked = h.attended.length;
    const nowhere = path.join(folder, 'nowhere', 'report.json');
    expect(failureOf(await waybill([...CERTIFY, '--report', nowhere], env))).toEqual({
      ...{ code: 'config_invalid', message: expect.stringMatching(/^--report: ENOENT/) as string },
    });
    const early = [...CERTIFY, '--no-wait', '--report', path.join(folder, 'early.json')];
    expect(failureOf(await waybill(early, env))).toEqual({
      code: 'config_invalid',
      message: '--report: there is none before it is over; leave --no-wait out',
    });
    expect(h.attended.length).toBe(asked);
  });

  test('writes the very bytes that the evidence is about, for the sandbox’s tenant alone', async () => {
    await h.db.rows(
      `insert into waybill.artifacts (tenant_id, sha256, content) values ('acme', sha256($1), $1)`,
      [Buffer.from(REPORT)],
    );
    await h.db.rows(
      `insert into waybill.evidence_statements (evidence_id, connector_id, version, kind,
          artifact_digest, content_digest, verdict, signer, issued_at, statement)
        values ('e', 'tracker', '1.0.0', 'conformance', repeat('a', 64), repeat('b', 64), 'pass', 'x',
          now(), 'jws')`,
    );
    await h.db.rows(
      `insert into waybill.certifications as c (connector_id, version, suite_version, state, tenant_id,
          instance_id, cases, requested_by, finished_at, evidence_id, report_sha256)
        values ('tracker', '1.0.0', $2, 'passed', 'acme', 'main', '{}', 'ada', now(), 'e', sha256($1))
        on conflict (connector_id, version, suite_version) do update set state = excluded.state,
          evidence_id = excluded.evidence_id, report_sha256 = excluded.report_sha256`,
      [Buffer.from(REPORT), SUITE_VERSION],
    );
    const file = path.join(folder, 'report.json');
    const told = await waybill([...CERTIFY, '--report', file], env);
    expect(told).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^evidence e$/m) as string,
    });
    expect(readFileSync(file)).toEqual(Buffer.from(REPORT));
    const other = path.join(folder, 'other.json');
    const theirs = { ...env, WAYBILL_TOKEN: await h.token({ tenant: 'globex', scopes: SCOPES }) };
    const { code, stderr } = await waybill([...CERTIFY, '--report', other], theirs);
    expect(code).toBe(1);
    expect(stderr).toMatch(/sandbox of another tenant, which alone may read .*\(not_found\)$/m);
    expect(existsSync(other)).toBe(false);
  });
});
