/**
 * The lifecycle service over real sockets and a real Postgres: who may speak for a replica, what is
 * answered to late, repeated and foreign calls. Doubled: the host, by calls that the test signs.
 */
import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { LIFECYCLE_OPERATIONS, type LifecycleClaims } from '../../src/domain/host-protocol';
import type { LifecycleOperation } from '../../src/domain/host-protocol';
import { didOfKey } from '../../src/signing/did-key';
import { LIFECYCLE_AUDIENCE, signLifecycleCall } from '../../src/hosts/protocol/lifecycle-calls';
import { ROUTE_TOKEN_ISSUER } from '../../src/hosts/protocol/route-tokens';
import { createServer } from '../../src/http/server';
import { LifecycleReply } from '../../src/schemas/host-messages';
import { fleetStatusProvider, registryReader } from '../../src/db/replicas';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import { addAccount, addReplica } from '../registry/postgres-fixture';
import { Harness, problem, type Answer } from './harness';
import { lifecycleDeps } from './lifecycle-deps';

const MANIFEST = 'd'.repeat(64);
let h: Harness;
let key: SigningKey;

beforeAll(async () => {
  h = await Harness.start();
  await h.db.rows(
    `insert into waybill.settings (default_retry) values ('{}') on conflict do nothing`,
  );
  await addAccount(h.db, {
    ...{ tenant: 'acme', instance: 'main', connector: 'tickets', priority: 0 },
    ...{ spill: 'never', spread: false, quota: null },
  });
  await h.db.rows('update waybill.connector_versions set manifest_digest = $1', [MANIFEST]);
});
afterAll(() => h.stop());

beforeEach(async () => {
  key = await importSigningKey(await generateKeyText());
});

/** A replica of its own, with the key of this test. */
async function newReplica(): Promise<string> {
  const replica = `r-${randomUUID()}`;
  await addReplica(h.db, {
    ...{ replica, tenant: 'acme', instance: 'main', capacity: 4 },
    ...{ region: 'eu', zone: 'eu-1', capacityClass: 'standard' },
  });
  await h.db.rows('update waybill.replicas set peer_did = $2 where replica_id = $1', [
    replica,
    didOfKey(key.publicJwk.x),
  ]);
  return replica;
}

function claimsOf(
  sub: string,
  operation: LifecycleOperation,
  more: Partial<LifecycleClaims> = {},
): LifecycleClaims {
  const iat = Math.floor(Date.now() / 1000);
  return {
    ...{ iss: didOfKey(key.publicJwk.x), sub, aud: LIFECYCLE_AUDIENCE, iat, exp: iat + 60 },
    ...{ operation, request_id: randomUUID(), previous_sequence: 0, store_epoch: 'epoch-1' },
    ...{ manifest_digest: MANIFEST, healthy: true, in_flight: 0 },
    ...more,
  };
}

async function send(
  claims: LifecycleClaims,
  at: {
    readonly path?: string;
    readonly signer?: SigningKey;
    readonly base?: string;
    readonly type?: string;
    readonly body?: string;
  } = {},
): Promise<Answer> {
  const body = at.body ?? (await signLifecycleCall(claims, at.signer ?? key));
  const path = at.path ?? `/v1/hosts/${claims.sub}/${claims.operation}`;
  const response = await fetch(`${at.base ?? h.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': at.type ?? 'application/jose' },
    body,
  });
  const { status, headers } = response;
  return { status, headers, body: (await response.json()) as Record<string, unknown> };
}

/** As the host kit reads it. */
async function reply(claims: LifecycleClaims): Promise<LifecycleReply> {
  const { status, body } = await send(claims);
  const read = LifecycleReply.parse(body);
  expect(status).toBe(read.kind === 'accepted' ? 200 : 409);
  return read;
}

test('register, heartbeat, drain, offline: a life, with the keys that tokens verify with', async () => {
  const replica = await newReplica();
  const trust = { issuer: ROUTE_TOKEN_ISSUER, keys: { keys: [h.key.publicJwk] } };
  const life: LifecycleReply[] = [];
  for (const [previous, operation] of (
    ['register', 'heartbeat', 'drain', 'heartbeat', 'offline'] as const
  ).entries()) {
    life.push(await reply(claimsOf(replica, operation, { previous_sequence: previous })));
  }
  expect(life).toMatchObject([
    { kind: 'accepted', sequence: 1, incarnation: 1, status: 'registered', trust },
    { kind: 'accepted', sequence: 2, incarnation: 1, status: 'ready', trust },
    { kind: 'accepted', sequence: 3, status: 'draining' },
    { kind: 'accepted', sequence: 4, status: 'drained', trust },
    { kind: 'accepted', sequence: 5, status: 'offline', leaseMs: 0 },
  ]);
  const known = await registryReader(h.db.as('waybill_lifecycle')).replica(replica);
  expect(known).toMatchObject({ status: 'offline', storeEpoch: 'epoch-1', incarnation: 1 });
});

test('the same request is answered the same, as often as it comes', async () => {
  const replica = await newReplica();
  const register = claimsOf(replica, 'register');
  const first = await reply(register);
  expect(await reply(register)).toEqual(first);
  const heartbeat = claimsOf(replica, 'heartbeat', { previous_sequence: 1 });
  const second = await reply(heartbeat);
  expect(await reply(heartbeat)).toEqual(second);
  expect(await reply(register)).toEqual(first);
  const known = await registryReader(h.db.as('waybill_lifecycle')).replica(replica);
  expect(known).toMatchObject({ incarnation: 1, healthRevision: 2, status: 'ready' });
});

test('an older sequence is told the newer one and changes nothing', async () => {
  const replica = await newReplica();
  await reply(claimsOf(replica, 'register'));
  for (const operation of LIFECYCLE_OPERATIONS) {
    const late = claimsOf(replica, operation, { previous_sequence: 0 });
    expect(await reply(late)).toEqual({ kind: 'stale_sequence', sequence: 1 });
  }
});

test('a host that was swept away may register again; one whose place was taken may not', async () => {
  const replica = await newReplica();
  await reply(claimsOf(replica, 'register'));
  const beat = () => reply(claimsOf(replica, 'heartbeat', { previous_sequence: 1 }));
  const expire = `update waybill.replicas set lease_ends_at = clock_timestamp() where replica_id = $1`;
  await h.db.rows(expire, [replica]);
  expect(await beat()).toEqual({ kind: 'must_register', sequence: 1 });
  await fleetStatusProvider(h.db.as('waybill_operations')).sweep(100);
  expect(await beat()).toEqual({ kind: 'must_register', sequence: 2 });
  const taken = { previous_sequence: 2, store_epoch: 'epoch-2' };
  expect(await reply(claimsOf(replica, 'register', taken))).toMatchObject({ incarnation: 2 });
  expect(await beat()).toEqual({ kind: 'stale_sequence', sequence: 3 });
  await h.db.rows(expire, [replica]);
  await fleetStatusProvider(h.db.as('waybill_operations')).sweep(100);
  expect(await beat()).toEqual({ kind: 'stale_sequence', sequence: 4 });
});

test('a replica that was never published is told so', async () => {
  expect(await reply(claimsOf('nobody', 'register'))).toEqual({ kind: 'unknown_replica' });
});

test('another manifest than the one of the version is refused, with both', async () => {
  const replica = await newReplica();
  const other = 'e'.repeat(64);
  const answer = await send(claimsOf(replica, 'register', { manifest_digest: other }));
  expect(problem(answer)).toMatchObject({ status: 422, code: 'manifest_mismatch' });
  expect(problem(answer).detail).toContain(other);
  expect(problem(answer).detail).toContain(MANIFEST);
  const known = await registryReader(h.db.as('waybill_lifecycle')).replica(replica);
  expect(known).toMatchObject({ status: 'offline', incarnation: 0 });
});

const now = Math.floor(Date.now() / 1000);
test.each<{ what: string; more: Partial<LifecycleClaims> }>([
  { what: 'for another audience', more: { aud: 'urn:example:other' } },
  { what: 'of another operation', more: { operation: 'offline' } },
  { what: 'that has expired', more: { iat: now - 200, exp: now - 140 } },
  { what: 'from the future', more: { iat: now + 200, exp: now + 260 } },
  { what: 'that lasts too long', more: { exp: now + 600 } },
])('a call $what is refused', async ({ more }) => {
  const replica = await newReplica();
  const answer = await send(claimsOf(replica, 'register', more), {
    path: `/v1/hosts/${replica}/register`,
  });
  expect(problem(answer)).toMatchObject({ status: 401, code: 'host_call_refused' });
});

test('a call that the key of the replica did not sign is refused, whoever signed it', async () => {
  const replica = await newReplica();
  const stranger = await importSigningKey(await generateKeyText());
  const claims = claimsOf(replica, 'register');
  const forged = [
    await send(claims, { signer: stranger }),
    await send({ ...claims, iss: didOfKey(stranger.publicJwk.x) }, { signer: stranger }),
    await send(claims, { body: 'no.jws.atall' }),
    await send(claims, { body: '{}' }),
    // Good, and at another replica's address.
    await send(claims, { path: `/v1/hosts/${await newReplica()}/register` }),
  ];
  for (const answer of forged) {
    expect(problem(answer)).toMatchObject({ status: 401, code: 'host_call_refused' });
    expect(answer.headers.get('www-authenticate')).toBeNull();
  }
  const known = await registryReader(h.db.as('waybill_lifecycle')).replica(replica);
  expect(known).toMatchObject({ status: 'offline', incarnation: 0 });
});

test('a body is one JWS of bounded size', async () => {
  const claims = claimsOf(await newReplica(), 'register');
  expect(problem(await send(claims, { type: 'application/json' }))).toMatchObject({
    ...{ status: 400, code: 'invalid_request', field: 'content-type' },
  });
  expect(problem(await send(claims, { body: 'a'.repeat(16_385) }))).toMatchObject({
    ...{ status: 413, code: 'body_too_large' },
  });
  expect(problem(await send(claims, { path: '/v1/hosts/a/promote' })).status).toBe(404);
});

test('a server for hosts alone serves them and nothing else', async () => {
  const app = createServer({
    ...{ log: pino({ level: 'silent' }), publicKeys: { keys: [] }, trustedProxies: [] },
    newRequestId: randomUUID,
    ready: () => Promise.resolve({ ready: true, checks: {} }),
    lifecycle: lifecycleDeps(h.db, h.key),
    serve: null,
  });
  const base = await app.listen({ port: 0, host: '127.0.0.1' });
  try {
    const answer = await send(claimsOf(await newReplica(), 'register'), { base });
    expect(answer).toMatchObject({ status: 200, body: { kind: 'accepted' } });
    expect((await h.call('/factory/deliveries', { base })).status).toBe(404);
    expect((await h.post('any', '{}', { base })).status).toBe(404);
    expect((await h.call('/ready', { base })).status).toBe(200);
  } finally {
    await app.close();
  }
});

test('and a server without that part knows no hosts', async () => {
  const app = await h.alsoServe({ lifecycle: null });
  try {
    const answer = await send(claimsOf(await newReplica(), 'register'), { base: app.base });
    expect(problem(answer).status).toBe(404);
  } finally {
    await app.close();
  }
});
