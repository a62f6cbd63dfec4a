/** What the server answers besides its work: unknown paths, wrong methods, its own state. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCatalogue } from '../../src/domain/errors';
import { developmentTokens } from '../../src/http/tokens/development';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { Harness, problem } from './harness';

const OPENAPI = join(__dirname, '../../docs/openapi.json');

interface OpenapiDocument {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, OpenapiOperation>>;
  readonly components: { readonly schemas: Record<string, unknown> };
}
interface OpenapiOperation {
  readonly operationId: string;
  readonly security?: readonly Record<string, readonly string[]>[];
  readonly 'x-side-effects': string;
  readonly 'x-idempotency': string;
  readonly responses: Record<string, { readonly description: string; readonly content: unknown }>;
}

describe('the server', () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db);
  });
  afterAll(() => h.stop());

  it('is alive, ready and says so without a token', async () => {
    const health = await h.call('/health', { token: null });
    expect(health).toMatchObject({ status: 200, body: { status: 'alive' } });
    expect(await h.call('/ready', { token: null })).toMatchObject({
      status: 200,
      body: { ready: true, checks: { postgres: 'ok' } },
    });
    expect(health.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(health.headers.get('x-content-type-options')).toBe('nosniff');
  });

  it.each([
    ['GET', '/'],
    ['GET', '/webhooks'],
    ['POST', '/webhooks/'],
    ['POST', '/webhooks/a/b'],
    ['GET', '/Factory/deliveries'],
    ['POST', '/factory/deliveries/x/replay/y'],
    ['GET', '/%zz'],
    ['GET', '/health/..%2f..'],
  ])('answers 404 to %s %s', async (method, path) => {
    const answer = await h.call(path, { method });
    expect({ path, status: problem(answer).status }).toEqual({ path, status: 404 });
  });

  it.each([
    ['GET', (ref: string) => `/webhooks/${ref}`, 'POST'],
    ['DELETE', () => '/webhooks/nobody?x=1', 'GET, HEAD, POST'],
    ['POST', () => '/factory/deliveries', 'GET, HEAD'],
    ['PUT', () => '/factory/deliveries/x/replay', 'POST'],
    ['POST', () => '/.well-known/jwks.json', 'GET, HEAD'],
    ['OPTIONS', () => '/health', 'GET, HEAD'],
  ] as const)('answers 405 to %s where only others are known', async (method, path, allowed) => {
    const answer = await h.call(path(hook.ingressRef), { method });
    expect(problem(answer)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(answer.headers.get('allow')).toBe(allowed);
  });

  it.each([
    [{ api: true, ingress: false }, 404, 200],
    [{ api: false, ingress: true }, 202, 404],
  ])('serves only what it is told to: %j', async (wanted, ingressStatus, apiStatus) => {
    const tokens = developmentTokens(h.key.publicJwk, Date.now);
    const app = await h.alsoServe({
      serve: { ingress: wanted.ingress, api: wanted.api ? { tokens } : null, admin: null },
    });
    const { base } = app;
    try {
      expect((await h.post(hook.ingressRef, '{}', { base })).status).toBe(ingressStatus);
      expect((await h.call('/factory/deliveries', { base })).status).toBe(apiStatus);
      expect((await h.call('/health', { base })).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});

describe('the OpenAPI document', () => {
  let h: Harness;
  let document: OpenapiDocument;
  beforeAll(async () => {
    h = await Harness.start();
    document = (await h.call<OpenapiDocument>('/openapi.json', { token: null })).body;
  });
  afterAll(() => h.stop());

  it('is the committed one (UPDATE_SNAPSHOT=1 writes it)', () => {
    const update = process.env['UPDATE_SNAPSHOT'] === '1';
    if (update) writeFileSync(OPENAPI, `${JSON.stringify(document, null, 2)}\n`);
    expect(document).toEqual(JSON.parse(readFileSync(OPENAPI, 'utf8')));
  });

  it('has no path of fixed words that hides what has those words as its id', () => {
    const paths = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => [method, ...path.split('/')]),
    );
    const isId = (part: string | undefined) => part?.startsWith('{') === true;
    const hides = (one: readonly string[], other: readonly string[]) =>
      one.length === other.length &&
      one.some((part, at) => !isId(part) && isId(other[at])) &&
      one.every((part, at) => part === other[at] || isId(other[at]));
    const hidden = paths.flatMap((one) => paths.filter((other) => hides(one, other)));
    expect(hidden).toEqual([]);
  });

  it.each([
    ['get', '/factory/connectors', 'factory.connections.read', 'read', 'natural'],
    [
      ...(['post', '/factory/connectors/{connectorId}/certify'] as const),
      ...(['factory.connections.admin', 'sandbox', 'key-header'] as const),
    ],
    ['post', '/factory/subscriptions', 'factory.connections.admin', 'external', 'key-header'],
    ['get', '/factory/deliveries', 'factory.connections.read', 'read', 'natural'],
    [
      ...(['post', '/factory/deliveries/{deliveryId}/replay'] as const),
      ...(['factory.connections.operate', 'shared-write', 'natural'] as const),
    ],
    ['post', '/v1/deliver', 'factory.deliveries.send', 'external', 'key-header'],
    ['get', '/v1/capability-resolution', 'factory.catalog.read', 'read', 'natural'],
    ['post', '/v1/replays', 'factory.replays.operate', 'shared-write', 'key-header'],
    ['post', '/v1/fleet/diff', 'factory.fleet.publish', 'read', 'natural'],
    ['post', '/v1/fleet/apply', 'factory.fleet.publish', 'shared-write', 'natural'],
  ])('says of %s %s its scope, side effects and idempotency', (method, at, scope, ...said) => {
    const operation = document.paths[at]?.[method];
    expect(operation?.security).toEqual([{ bearer: [scope] }]);
    expect([operation?.['x-side-effects'], operation?.['x-idempotency']]).toEqual(said);
  });

  it('is OpenAPI 3.1 with every route, its scope and its problems', () => {
    expect(document.openapi).toBe('3.1.0');
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'get /.well-known/jwks.json',
      'get /factory/connectors',
      'get /factory/connectors/{connectorId}/certifications/{version}',
      'get /factory/connectors/{connectorId}/certifications/{version}/report',
      'get /factory/deliveries',
      'get /factory/deliveries/{deliveryId}',
      'get /factory/subscriptions',
      'get /factory/subscriptions/{subscriptionId}',
      'get /factory/targets',
      'get /health',
      'get /ready',
      'get /v1/actions',
      'get /v1/actions/{actionId}',
      'get /v1/approvals',
      'get /v1/capabilities',
      'get /v1/capabilities/{capabilityId}',
      'get /v1/capability-resolution',
      'get /v1/event-sinks',
      'get /v1/events',
      'get /v1/fleet/status',
      'get /v1/quotas',
      'get /v1/receipts/export',
      'get /v1/receipts/{about}/{id}',
      'get /v1/replays',
      'get /v1/replays/{jobId}',
      'get /v1/replays/{jobId}/items',
      'get /v1/route-attempts',
      'get /v1/routes',
      'get /v1/routes/{actionId}',
      'get /webhooks/{ingressRef}',
      'patch /factory/subscriptions/{subscriptionId}',
      'post /factory/connectors/{connectorId}/certify',
      'post /factory/deliveries/{deliveryId}/readmit',
      'post /factory/deliveries/{deliveryId}/replay',
      'post /factory/subscriptions',
      'post /factory/subscriptions/{subscriptionId}/deactivate',
      'post /factory/subscriptions/{subscriptionId}/ingress/rotate',
      'post /factory/subscriptions/{subscriptionId}/pause',
      'post /factory/subscriptions/{subscriptionId}/resume',
      'post /factory/targets/{targetId}/pause',
      'post /factory/targets/{targetId}/resume',
      'post /v1/actions/{actionId}/approve',
      'post /v1/actions/{actionId}/cancel',
      'post /v1/actions/{actionId}/deny',
      'post /v1/actions/{actionId}/repin',
      'post /v1/actions/{actionId}/resolve',
      'post /v1/connection-events',
      'post /v1/deliver',
      'post /v1/fleet/apply',
      'post /v1/fleet/diff',
      'post /v1/hosts/{replicaId}/drain',
      'post /v1/hosts/{replicaId}/heartbeat',
      'post /v1/hosts/{replicaId}/offline',
      'post /v1/hosts/{replicaId}/register',
      'post /v1/plans/verify',
      'post /v1/replays',
      'post /v1/replays/{jobId}/cancel',
      'post /v1/replays/{jobId}/pause',
      'post /v1/replays/{jobId}/resume',
      'post /v1/replays/{jobId}/run',
      'post /webhooks/{ingressRef}',
      'put /v1/actions/{actionId}',
    ]);
    for (const { path, operation } of operations) {
      // Hosts sign their calls; what they must react to is an answer of its own, not a problem.
      const ofHosts = path.startsWith('/v1/hosts/');
      const guarded = /^\/(factory|v1)\//.test(path) && !ofHosts;
      expect(operation.security?.[0]?.['bearer']?.length ?? 0).toBe(guarded ? 1 : 0);
      for (const [status, { description, content }] of Object.entries(operation.responses)) {
        if (Number(status) < 400 || (ofHosts && status === '409')) continue;
        expect(Object.keys(content as object)).toEqual(['application/problem+json']);
        const codes = [...description.matchAll(/`(\w+)`/g)].map(([, code]) => code ?? '');
        for (const code of codes.filter((name) => name in errorCatalogue)) {
          expect(errorCatalogue[code as keyof typeof errorCatalogue].status).toBe(Number(status));
        }
      }
    }
  });
});
