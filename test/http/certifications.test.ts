/**
 * Connectors and their certification by API, over a real Postgres. Doubled: starting the workflow,
 * which is noted.
 */
import { createHash } from 'node:crypto';
import { compactVerify, importJWK } from 'jose';
import { ConformanceReport } from '../../src/schemas/api-connectors';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { judgeCertification, tryConformanceGroup } from '../../src/services/certification';
import { publishFleet } from '../../src/services/publications';
import { WaybillError } from '../../src/domain/errors';
import { CONFORMANCE_GROUPS, SUITE_VERSION } from '../../src/domain/conformance';
import {
  account,
  binding,
  capability,
  connector,
  fleetOf,
  instance,
  tracker,
} from '../support/fleet-texts';
import { Harness } from './harness';

const ARTIFACT = `artifactDigest: ${'a'.repeat(64)}`;
let api: Harness;

beforeAll(async () => {
  api = await Harness.start();
  await publish(
    ...[capability(), tracker('status: draft', ARTIFACT), account()],
    tracker('version: 2.0.0', 'adapterRef: { kind: host, name: tracker-host, version: 1.4.0 }'),
    ...[account('id: newer', 'version: 2.0.0'), connector()],
    ...[
      connector('id: hooks', 'status: draft', ARTIFACT),
      instance('id: hooks', 'connector: hooks'),
    ],
    ...[tracker('version: 4.0.0', ARTIFACT), account('id: busy', 'version: 4.0.0')],
    binding('instance: busy'),
    connector('id: theirs', 'tenant: globex'),
    connector('id: idle', 'webhookScheme: null', ARTIFACT),
    tracker('version: 3.0.0', 'status: revoked'),
  );
});
afterAll(() => api.stop());

async function publish(...documents: readonly string[]): Promise<void> {
  const fleet = readFleet(fleetOf(...documents), loadShippedSchemes());
  await publishFleet(api.db.as('waybill_control'), fleet, 'test');
}

async function bearer(tenant = 'acme'): Promise<string> {
  const scopes = ['factory.connections.read', 'factory.connections.admin'];
  return `Bearer ${await api.token({ tenant, scopes })}`;
}

async function ask(path: string, body?: object, tenant = 'acme') {
  const authorization = await bearer(tenant);
  const response = await fetch(`${api.url}/factory/connectors${path}`, {
    headers: { authorization, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const certify = (body: object, tenant?: string) => ask('/tracker/certify', body, tenant);

describe('listing connectors', () => {
  test('tells descriptors of the platform and of the tenant itself, by connector and version', async () => {
    const { status, body } = await ask('');
    expect(status).toBe(200);
    const shown = body['connectors'] as { connectorId: string; version: string }[];
    expect(shown.map(({ connectorId, version }) => `${connectorId} ${version}`)).toEqual([
      ...[
        'github 1.0.0',
        'hooks 1.0.0',
        'idle 1.0.0',
        'tracker 1.0.0',
        'tracker 2.0.0',
        'tracker 3.0.0',
        'tracker 4.0.0',
      ],
    ]);
    expect(shown.find(({ version }) => version === '2.0.0')).toMatchObject({
      ...{ tenantId: '_platform', provider: 'tracker', state: 'active', enabled: true },
      ...{ capabilities: ['work-items'], capabilityIds: ['tickets.create'], webhookScheme: null },
      adapterRef: { kind: 'host', name: 'tracker-host', version: '1.4.0' },
      ...{ certification: null, certificationRef: null, releaseId: null, configurationForm: null },
    });
  });

  test('goes on page by page, and by filter', async () => {
    const { body } = await ask('?connectorId=tracker&limit=2');
    expect(body['connectors']).toHaveLength(2);
    const next = await ask(`?connectorId=tracker&limit=2&cursor=${String(body['nextCursor'])}`);
    expect(next.body).toMatchObject({
      connectors: [{ version: '3.0.0' }, { version: '4.0.0' }],
      nextCursor: null,
    });
    expect((await ask('?state=draft')).body['connectors']).toHaveLength(2);
  });
});

describe('certifying', () => {
  test.each([
    ['of a version that is not there', { version: '9.0.0', instance: 'main' }, 404, 'not_found'],
    ['on an instance of another version', { version: '1.0.0', instance: 'newer' }, 409, 'instance'],
    ['on an instance that is not there', { version: '1.0.0', instance: 'nobody' }, 409, 'instance'],
    ['on an instance that serves', { version: '4.0.0', instance: 'busy' }, 409, 'instance'],
    ['of what nothing can vouch for', { version: '2.0.0', instance: 'newer' }, 409, 'version'],
    ['of a revoked version', { version: '3.0.0', instance: 'main' }, 409, 'version'],
  ])('%s is refused', async (_name, body, status, told) => {
    const answer = await certify(body);
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject(
      status === 404 ? { code: told } : { code: 'certification_refused', field: told },
    );
  });

  test('of a connector that is switched off is refused', async () => {
    await api.db.rows(
      `update waybill.connectors set enabled = false where connector_id = 'tracker'`,
    );
    const answer = await certify({ version: '1.0.0', instance: 'main' });
    await api.db.rows(`update waybill.connectors set enabled = true`);
    expect(answer.body).toMatchObject({
      code: 'certification_refused',
      detail: expect.stringMatching(/is not enabled/) as string,
    });
  });

  test('of a connector that has neither capabilities nor a scheme is refused', async () => {
    const answer = await ask('/idle/certify', { version: '1.0.0', instance: 'main' });
    expect(answer.body).toMatchObject({ code: 'certification_refused', field: 'version' });
  });

  test('with a text that Postgres cannot hold is refused, with its place', async () => {
    const requests = { 'tickets.create': { valid: [{ title: '\ud800' }] } };
    const { status, body } = await certify({ version: '1.0.0', instance: 'main', requests });
    expect([status, body['code']]).toEqual([400, 'invalid_request']);
    expect(body['field']).toBe('requests.tickets.create.valid.0.title');
  });

  test("of another tenant's connector finds none", async () => {
    const answer = await ask('/theirs/certify', { version: '1.0.0', instance: 'main' });
    expect(answer).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  test('by a key that the settings do not trust is refused, and the key is named', async () => {
    const x = Buffer.alloc(32, 7).toString('base64url');
    await publish(
      `kind: Settings\ntrustedSigners: { other: { kty: OKP, crv: Ed25519, x: ${x} } }\n`,
    );
    const answer = await certify({ version: '1.0.0', instance: 'main' });
    expect(answer.body).toMatchObject({ code: 'certification_refused' });
    expect(answer.body['detail']).toContain(api.key.publicJwk.x);
    await publish('kind: Settings\ntrustedSigners: null\n');
  });

  test('starts one run however often it is asked for, and shows it to whom it belongs', async () => {
    const requests = { 'tickets.create': { valid: [{ title: 'x' }], invalid: [] } };
    const first = await certify({ version: '1.0.0', instance: 'main', requests });
    expect(first).toMatchObject({
      status: 202,
      body: {
        ...{ connectorId: 'tracker', version: '1.0.0', suiteVersion: SUITE_VERSION },
        ...{ state: 'running', run: 1, instanceId: 'main', cases: [], evidenceId: null },
        workflowId: `certify/tracker/1.0.0/${SUITE_VERSION}`,
      },
    });
    expect(await certify({ version: '1.0.0', instance: 'main' })).toEqual(first);
    // Whoever asks again makes good a start that was lost.
    expect(api.attended).toEqual([
      ['tracker', 'run 1'],
      ['tracker', 'run 1'],
    ]);
    await api.db.rows(
      `update waybill.certifications set results = '{"basics": [{"id": "basics/health",
        "group": "basics", "rule": "Calls: alive", "verdict": "failed", "why": "it is not alive",
        "startedAtMs": 1, "durationMs": 2,
        "exchanges": [{"sent": "GET /health", "cameBack": "500"}]}]}'`,
    );
    const own = await ask('/tracker/certifications/1.0.0');
    expect(own.body).toMatchObject({
      counts: { passed: 0, failed: 1, skipped: 0 },
      cases: [{ id: 'basics/health', exchanges: [{ sent: 'GET /health', cameBack: '500' }] }],
    });
    // The connector is the platform's, the sandbox is not.
    const other = await ask('/tracker/certifications/1.0.0', undefined, 'globex');
    expect(own.body).toMatchObject({ requestedBy: expect.any(String) as string });
    expect(other.body).toMatchObject({
      ...{ counts: { failed: 1 }, cases: null, instanceId: null, requestedBy: null, reason: null },
    });
  });

  test('without a Temporal server is noted, and can be asked for again', async () => {
    const start = () => Promise.reject(new WaybillError('temporal_unreachable'));
    const other = await api.alsoServe({ certifications: { signer: 'x', start } });
    const response = await fetch(`${other.base}/factory/connectors/tracker/certify`, {
      method: 'POST',
      headers: { authorization: await bearer(), 'content-type': 'application/json' },
      body: JSON.stringify({ version: '1.0.0', instance: 'main' }),
    });
    await other.close();
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: 'temporal_unreachable' });
  });

  test('of a version that nobody asked about has no state', async () => {
    expect(await ask('/tracker/certifications/2.0.0')).toMatchObject({ status: 404 });
  });
});

describe('a version that has passed', () => {
  const path = '/hooks/certifications/1.0.0';

  beforeAll(async () => {
    await ask('/hooks/certify', { version: '1.0.0', instance: 'hooks' });
    const services = {
      ...{ operations: api.db.as('waybill_operations'), signingKey: api.key },
      ...{ nowMs: Date.now, shippedSchemes: loadShippedSchemes },
    };
    const ref = { connectorId: 'hooks', version: '1.0.0', suiteVersion: SUITE_VERSION, run: 1 };
    const { signal } = new AbortController();
    for (const group of CONFORMANCE_GROUPS)
      await tryConformanceGroup(services, { ...ref, group }, signal);
    await judgeCertification(services, { ...ref, reason: null });
  });

  test('has a report and a statement that can be checked by anybody, with nothing else', async () => {
    const { body } = await ask(path);
    const report = await readReport('acme');
    expect(report.headers.get('content-type')).toBe('application/json');
    const bytes = Buffer.from(await report.arrayBuffer());
    const statement = String(body['statement']);
    const { payload } = await compactVerify(statement, await importJWK(api.key.publicJwk));
    const claims = JSON.parse(Buffer.from(payload).toString('utf8')) as Record<string, unknown>;
    expect(claims).toMatchObject({
      ...{ connector: 'hooks', version: '1.0.0', kind: 'conformance', verdict: 'pass' },
      contentDigest: createHash('sha256').update(bytes).digest('hex'),
    });
    expect(ConformanceReport.parse(JSON.parse(bytes.toString('utf8')))).toMatchObject({
      ...{ connectorId: 'hooks', version: '1.0.0', suiteVersion: SUITE_VERSION },
      artifactDigest: 'a'.repeat(64),
      cases: [
        {
          ...{ id: 'webhooks/vectors', verdict: 'passed' },
          rule: expect.stringMatching(/^Vectors .*: ./) as string,
          ...{
            startedAtMs: expect.any(Number) as number,
            durationMs: expect.any(Number) as number,
          },
        },
      ],
    });
  });

  test('shows its evidence to every tenant, and its report to that of the sandbox alone', async () => {
    const other = await ask(path, undefined, 'globex');
    expect(other.body).toMatchObject({ state: 'passed', statement: expect.any(String) as string });
    expect((await readReport('globex')).status).toBe(404);
    expect((await ask('/tracker/certifications/1.0.0/report')).status).toBe(404);
  });

  test('is asked for by a key: the same answer, and no other request under it', async () => {
    const wish = { version: '1.0.0', instance: 'hooks' };
    const first = await keyed(wish);
    const again = await keyed(wish);
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.json()).toEqual(await first.json());
    const other = await keyed({ ...wish, instance: 'main' });
    expect([other.status, await other.json()]).toMatchObject([
      ...[422, { code: 'idempotency_key_reused' }],
    ]);
  });

  async function readReport(tenant: string): Promise<Response> {
    return await fetch(`${api.url}/factory/connectors${path}/report`, {
      headers: { authorization: await bearer(tenant) },
    });
  }

  async function keyed(body: object): Promise<Response> {
    return await fetch(`${api.url}/factory/connectors/hooks/certify`, {
      method: 'POST',
      headers: {
        ...{ authorization: await bearer(), 'content-type': 'application/json' },
        'idempotency-key': '"certify-hooks"',
      },
      body: JSON.stringify(body),
    });
  }
});
