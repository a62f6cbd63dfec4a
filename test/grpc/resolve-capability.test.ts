/**
 * ResolveCapability and the health service over real sockets: a client that is made of the committed
 * .proto, the served parts over a real Postgres, tokens of a real key. Doubled is only whether the
 * process is ready.
 */
import { Metadata, status } from '@grpc/grpc-js';
import { capabilityCatalog } from '../../src/db/capabilities';
import { DEFAULT_LIMITS } from '../../src/grpc/deps';
import { callLimits } from '../../src/http/rate-limits';
import type { GrpcServer } from '../../src/grpc/server';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';
import { call, GrpcRig, refusal, type Wished } from './rig';

let rig: GrpcRig;
let fleet: Rig;
let server: GrpcServer;

beforeAll(async () => {
  const db = await createTestDatabase();
  rig = await GrpcRig.make(db);
  fleet = new Rig(postgresFixture(db));
  await fleet.account();
  await fleet.account({ instance: 'second', connector: 'other', priority: 200 });
  server = await rig.serve();
});
afterAll(async () => {
  await rig.stop();
  await rig.db.drop();
});

const resolve = async (message: Record<string, unknown>, who: Wished = {}) =>
  call(rig.client(server), 'ResolveCapability', message, { metadata: await rig.metadata(who) });

describe('ResolveCapability', () => {
  it.each([
    ['a capability', { capabilityId: CAPABILITY }],
    ['an interface', { interface: 'work-items', projectId: 'website' }],
  ])('answers adapter and instance of %s', async (_what, message) => {
    expect(await resolve(message)).toMatchObject({
      answer: {
        adapter: { connectorId: 'tracker', version: '1.0.0', provider: 'tracker' },
        ...{ instanceId: 'main', interface: 'work-items', revision: 0 },
        capabilities: [{ capabilityId: CAPABILITY, sideEffect: 'shared-write', priority: 100 }],
      },
    });
  });

  it('says why no binding can be used, and in whose name that is so', async () => {
    const none = {
      ...{ status: status.NOT_FOUND, code: 'capability_unavailable', retryable: 'false' },
      reason: 'binding_unavailable.no_binding',
    };
    expect(refusal(await resolve({ capabilityId: 'mail.send' }))).toMatchObject(none);
    expect(
      refusal(await resolve({ capabilityId: CAPABILITY }, { tenant: 'globex' })),
    ).toMatchObject(none);
  });

  it.each([
    [{}, 'wanted'],
    [{ capabilityId: 'Not A Name' }, 'capability_id'],
    [{ interface: '' }, 'interface'],
    [{ interface: 'work-items', projectId: 'a b' }, 'project_id'],
  ])('refuses %j and names the field', async (message, field) => {
    expect(refusal(await resolve(message))).toMatchObject({
      ...{ status: status.INVALID_ARGUMENT, code: 'invalid_request', field },
    });
  });

  it('takes the token that the API takes, with the scope', async () => {
    const client = rig.client(server);
    const ask = (metadata: Metadata) =>
      call(client, 'ResolveCapability', { capabilityId: CAPABILITY }, { metadata });
    const unauthenticated = { status: status.UNAUTHENTICATED, code: 'unauthenticated' };
    expect(refusal(await ask(new Metadata()))).toMatchObject(unauthenticated);
    const broken = new Metadata();
    broken.set('authorization', 'Bearer not.a.token');
    expect(refusal(await ask(broken))).toMatchObject(unauthenticated);
    const scopes = ['factory.actions.read'];
    expect(refusal(await ask(await rig.metadata({ scopes })))).toMatchObject({
      ...{ status: status.PERMISSION_DENIED, code: 'scope_missing' },
      details: 'The token lacks the scope factory.catalog.read.',
    });
    expect(rig.log.join('')).not.toContain('not.a.token');
  });

  it('names the call in a fault of ours, and keeps the rest for the log', async () => {
    const broken = await rig.serve({
      catalog: {
        ...capabilityCatalog(rig.db.as('waybill_data')),
        resolve: () => Promise.reject(new Error('the inside of it')),
      },
    });
    const outcome = await call(
      rig.client(broken),
      'ResolveCapability',
      { capabilityId: CAPABILITY },
      { metadata: await rig.metadata() },
    );
    expect(refusal(outcome)).toEqual({
      ...{ status: status.INTERNAL, code: 'internal', retryable: 'true' },
      details: 'Something went wrong inside Waybill; see its log.',
    });
    const requestId = 'refused' in outcome && outcome.refused.metadata.get('waybill-request-id')[0];
    const line = rig.log.find((text) => text.includes(String(requestId))) ?? '';
    expect(line).toContain('the inside of it');
  });
});

describe('a token that is narrowed', () => {
  it.each([
    [{ capabilityId: CAPABILITY }, { capabilities: [CAPABILITY] }, true],
    [{ capabilityId: CAPABILITY }, { capabilities: ['other.*'] }, false],
    [{ capabilityId: 'no.such' }, { capabilities: ['other.*'] }, false],
    [{ capabilityId: CAPABILITY }, { max_side_effect: 'shared-write' }, true],
    [{ capabilityId: CAPABILITY }, { max_side_effect: 'sandbox' }, false],
    [{ interface: 'work-items' }, { capabilities: ['*'], max_side_effect: 'external' }, true],
    [{ interface: 'work-items' }, { max_side_effect: 'read' }, false],
  ])('asks for %j with %j: %s', async (message, claims, allowed) => {
    const outcome = await resolve(message, { claims });
    if (allowed) expect(outcome).toMatchObject({ answer: { instanceId: 'main' } });
    else {
      const refused = { status: status.PERMISSION_DENIED, code: 'capability_not_permitted' };
      expect(refusal(outcome)).toMatchObject(refused);
    }
  });
});

describe('bounds', () => {
  it('the calls of a minute are counted, for each subject and for all of a tenant', async () => {
    const limits = callLimits({ perSubject: 1, perTenant: 2 });
    const client = rig.client(await rig.serve({ callLimits: limits }));
    const ask = async (subject: string, tenant = 'acme') =>
      call(
        client,
        'ResolveCapability',
        { capabilityId: CAPABILITY },
        { metadata: await rig.metadata({ subject, tenant }) },
      );
    expect(await ask('ada')).toHaveProperty('answer');
    const second = await ask('ada');
    expect(refusal(second)).toMatchObject({
      ...{ status: status.RESOURCE_EXHAUSTED, code: 'rate_limited', retryable: 'true' },
      details: 'The subject may make 1 calls a minute.',
    });
    const [wait] = 'refused' in second ? second.refused.metadata.get('grpc-retry-pushback-ms') : [];
    expect(Number(wait)).toBeGreaterThan(0);
    expect(Number(wait)).toBeLessThanOrEqual(60_000);
    expect(await ask('bob')).toHaveProperty('answer');
    expect(refusal(await ask('eve'))['details']).toBe('The tenant may make 2 calls a minute.');
    expect(refusal(await ask('ada', 'globex'))).toMatchObject({ code: 'capability_unavailable' });
  });

  it('no message is larger than allowed, and no call longer', async () => {
    const limits = { ...DEFAULT_LIMITS, messageBytes: 1_000, callMs: 200 };
    const catalog = {
      ...capabilityCatalog(rig.db.as('waybill_data')),
      resolve: () => new Promise<never>(() => undefined),
    };
    const client = rig.client(await rig.serve({ limits, catalog }));
    const metadata = await rig.metadata();
    const large = { capabilityId: 'x'.repeat(2_000) };
    expect(refusal(await call(client, 'ResolveCapability', large, { metadata }))).toMatchObject({
      status: status.RESOURCE_EXHAUSTED,
    });
    const outcome = await call(
      client,
      'ResolveCapability',
      { capabilityId: CAPABILITY },
      { metadata },
    );
    expect(refusal(outcome)).toMatchObject({
      ...{ status: status.DEADLINE_EXCEEDED, details: 'no call takes 200 ms' },
    });
  });
});

describe('health', () => {
  const check = (service: string, of = server) =>
    call(rig.client(of, 'grpc.health.v1.Health'), 'Check', { service });

  it('answers for the server and for its service, without a token', async () => {
    expect(await check('')).toEqual({ answer: { status: 'SERVING' } });
    expect(await check('waybill.connectors.v1.Connectors')).toEqual({
      answer: { status: 'SERVING' },
    });
    expect(refusal(await check('other'))).toMatchObject({ status: status.NOT_FOUND });
  });

  it('does not serve while the process is not ready', async () => {
    const of = await rig.serve({ limits: { ...DEFAULT_LIMITS, healthMs: 20 } });
    rig.ready = false;
    const told = async (wanted: string) => {
      const outcome = await check('', of);
      return 'answer' in outcome && outcome.answer['status'] === wanted ? wanted : null;
    };
    expect(await until('it is not ready', () => told('NOT_SERVING'))).toBe('NOT_SERVING');
    rig.ready = true;
    expect(await until('it is ready', () => told('SERVING'))).toBe('SERVING');
  });
});
