/**
 * How the gRPC part is served: what the committed .proto says, TLS of a certificate that openssl makes,
 * and what settings refuse. Real sockets and files.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { credentials, status } from '@grpc/grpc-js';
import { parseConfig } from '../../src/schemas/config';
import { DeliverRequest, ResolveCapabilityRequest } from '../../src/schemas/grpc-messages';
import { grpcTls, serveGrpc } from '../../src/workers/grpc-server';
import { Closers } from '../../src/workers/closers';
import { callLimits, DEFAULT_CALL_RATES } from '../../src/http/rate-limits';
import { developmentTokens } from '../../src/http/tokens/development';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { makeCertificate } from '../support/certificate';
import { createTestDatabase } from '../support/test-database';
import pino from 'pino';
import { call, fieldsOf, GrpcRig, methodsOf, refusal } from './rig';

let rig: GrpcRig;
let folder: string;
beforeAll(async () => {
  rig = await GrpcRig.make(await createTestDatabase());
  await new Rig(postgresFixture(rig.db)).account();
  folder = await mkdtemp(path.join(tmpdir(), 'waybill-grpc-'));
});
afterAll(async () => {
  await rig.stop();
  await rig.db.drop();
  await rm(folder, { recursive: true });
});

describe('the committed .proto', () => {
  it('has the methods that are served, and no other', async () => {
    const client = rig.client(await rig.serve());
    const methods = await methodsOf('waybill.connectors.v1.Connectors');
    expect(methods).toEqual(['Deliver', 'ResolveCapability']);
    for (const method of methods) {
      const outcome = await call(client, method, {});
      expect([method, refusal(outcome)]).toMatchObject([
        method,
        { status: status.UNAUTHENTICATED },
      ]);
    }
  });

  it.each([
    ['ResolveCapabilityRequest', ResolveCapabilityRequest.shape],
    ['DeliverRequest', DeliverRequest.shape],
    ['DeliverBudget', DeliverRequest.shape.budget.unwrap().shape],
    ['PolicyDecision', DeliverRequest.shape.policyDecision.unwrap().shape],
  ])('asks for what is read of a %s', async (name, shape) => {
    expect(await fieldsOf(name)).toEqual(Object.keys(shape).sort());
  });

  it('tells all that is answered', async () => {
    const outcome = await call(
      rig.client(await rig.serve()),
      'ResolveCapability',
      { capabilityId: CAPABILITY },
      { metadata: await rig.metadata() },
    );
    if ('refused' in outcome) throw outcome.refused;
    const { adapter, capabilities } = outcome.answer;
    const [capability] = capabilities as object[];
    const told: readonly (readonly [string, unknown])[] = [
      ['ResolveCapabilityResponse', outcome.answer],
      ['Adapter', adapter],
      ['ResolvedCapability', capability],
    ];
    for (const [name, message] of told) {
      expect(Object.keys(message as object).sort()).toEqual(await fieldsOf(name));
    }
  });
});

describe('TLS', () => {
  const file = (name: string) => path.join(folder, name);
  const settings = (more: Record<string, string>) =>
    parseConfig({ WAYBILL_GRPC_PORT: '0', ...more });
  const withTls = () =>
    settings({
      WAYBILL_HOST: '0.0.0.0',
      WAYBILL_GRPC_TLS_CERT: file('server.crt'),
      WAYBILL_GRPC_TLS_KEY: file('server.key'),
    });
  beforeAll(async () => {
    makeCertificate(folder);
    await writeFile(file('empty.pem'), '');
  });

  it('is spoken with the certificate that the settings name', async () => {
    const server = await rig.serve({}, await grpcTls(withTls()));
    const trust = credentials.createSsl(await readFile(file('server.crt')));
    const health = 'grpc.health.v1.Health';
    const check = (with_ = trust) =>
      call(rig.client(server, health, with_), 'Check', {}, { deadlineMs: 3_000 });
    expect(await check()).toEqual({ answer: { status: 'SERVING' } });
    const stranger = await check(credentials.createSsl());
    expect(refusal(stranger)).toMatchObject({ status: status.UNAVAILABLE });
    expect(refusal(await check(credentials.createInsecure()))).toMatchObject({
      status: status.UNAVAILABLE,
    });
  });

  it.each([
    [{ WAYBILL_HOST: '0.0.0.0' }, 'WAYBILL_GRPC_TLS_CERT'],
    [{ WAYBILL_GRPC_TLS_CERT: 'server.crt' }, 'WAYBILL_GRPC_TLS_KEY'],
    [{ WAYBILL_GRPC_TLS_KEY: 'server.key' }, 'WAYBILL_GRPC_TLS_CERT'],
    [
      { WAYBILL_GRPC_TLS_CERT: 'no.crt', WAYBILL_GRPC_TLS_KEY: 'server.key' },
      'WAYBILL_GRPC_TLS_CERT',
    ],
    [
      { WAYBILL_GRPC_TLS_CERT: 'server.crt', WAYBILL_GRPC_TLS_KEY: 'empty.pem' },
      'WAYBILL_GRPC_TLS_KEY',
    ],
  ])('is not guessed: %j', async (given, field) => {
    const named = Object.fromEntries(
      Object.entries(given).map(([name, value]) => [
        name,
        name.startsWith('WAYBILL_GRPC_TLS') ? file(value) : value,
      ]),
    );
    await expect(grpcTls(settings(named))).rejects.toMatchObject({
      ...{ code: 'config_invalid', field },
    });
  });

  it('is not needed on loopback, or where something else has it', async () => {
    expect(await grpcTls(settings({}))).toBeNull();
    const plain = { WAYBILL_HOST: '0.0.0.0', WAYBILL_GRPC_PLAIN: 'on' };
    expect(await grpcTls(settings(plain))).toBeNull();
  });
});

test('a port that is taken is named with the setting that changes it', async () => {
  const closers = new Closers();
  const parts = {
    log: pino({ level: 'silent' }),
    data: rig.db.as('waybill_data'),
    deliver: () => Promise.reject(new Error('nothing is sent here')),
    tokens: developmentTokens(rig.key.publicJwk, Date.now),
    callLimits: callLimits(DEFAULT_CALL_RATES),
    tls: null,
    ready: () => Promise.resolve({ ready: true, checks: {} }),
  };
  const serve = (port: string) =>
    serveGrpc({ ...parts, config: parseConfig({ WAYBILL_GRPC_PORT: port }) }, closers);
  const [, port = ''] = (await serve('0')).split(':');
  await expect(serve(port)).rejects.toMatchObject({
    ...{ code: 'port_in_use', field: 'WAYBILL_GRPC_PORT' },
  });
  await closers.close();
});
