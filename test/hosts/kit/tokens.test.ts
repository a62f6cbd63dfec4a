/**
 * What a host refuses before it asks its memory, over real sockets: each refusal is signed and says
 * that nothing began. Doubled: the store is the one in memory.
 */
import { request } from 'undici';
import { createHostClient, type HostCall } from '../../../src/hosts/client';
import { openAnswer } from '../../../src/hosts/protocol/answers';
import { sha256Hex } from '../../../src/hosts/protocol/jws';
import { actionRequest } from '../../../src/hosts/protocol/limits';
import { signRouteToken } from '../../../src/hosts/protocol/route-tokens';
import type { Host } from '../../../src/hosts/kit/host';
import type { HostAnswerClaims, RouteTokenClaims } from '../../../src/domain/host-protocol';
import type { RouteAssignment } from '../../../src/domain/routes';
import { callTo, clientOf, INCARNATION, ISSUER, json, newKey } from '../support/fixtures';
import { BODY, bothSides } from '../support/host-at-work';
import { DONE, hostOver, Work } from '../support/work';

const sides = bothSides();
let host: Host;
const work = new Work();

beforeAll(async () => {
  host = await hostOver(work, sides.keys);
});
afterAll(async () => {
  expect(work.begun).toHaveLength(2);
  await host.stop();
});

const refused = (refusal: string): unknown =>
  expect.objectContaining({ kind: 'refused', refusal, started: false });

/** A request of whatever form, and the host's answer verified as an answer to it. */
async function send(
  call: HostCall,
  raw: {
    readonly token: string;
    readonly jti: string;
    readonly body?: Buffer;
    /** Of the path, where it is another one than the token's. */
    readonly action?: string;
  },
): Promise<HostAnswerClaims> {
  const body = raw.body ?? BODY;
  const response = await request(
    call.route.endpoint + actionRequest('execute', raw.action ?? call.route.actionId).path,
    {
      method: 'PUT',
      headers: { authorization: `Bearer ${raw.token}`, 'content-type': 'application/json' },
      body,
    },
  );
  const opened = await openAnswer(await response.body.text(), {
    peerDid: host.did,
    jti: raw.jti,
    tenant: call.route.tenantId,
    action: call.route.actionId,
    fence: call.fence,
    tokenSha256: sha256Hex(raw.token),
    bodySha256: sha256Hex(body),
  });
  if (opened.kind !== 'answer') throw new Error(opened.kind);
  return opened.claims;
}

function claimsOf({ route, fence }: HostCall): RouteTokenClaims {
  return {
    tenant: route.tenantId,
    action: route.actionId,
    capability: route.capabilityId,
    connector: route.connectorId,
    instance: route.instanceId,
    version: route.version,
    manifest_digest: route.manifestDigest,
    replica: route.replicaId,
    incarnation: INCARNATION,
    store_epoch: null,
    sent_ago_ms: null,
    begin_anew: false,
    topology: route.topology,
    fence,
    catalog_revision: 1,
    binding_policy_revision: 1,
    credential_revision: '7',
    quota_policy: null,
    approval: null,
    purpose: 'execute',
    body_sha256: sha256Hex(BODY),
  };
}

function frame(
  jti: string,
  more: { audience?: string; expiresInMs?: number } = {},
): {
  issuer: string;
  audience: string;
  jti: string;
  issuedAtMs: number;
  expiresAtMs: number;
} {
  const issuedAtMs = Date.now();
  const expiresAtMs = issuedAtMs + (more.expiresInMs ?? 30_000);
  return { issuer: ISSUER, audience: more.audience ?? host.did, jti, issuedAtMs, expiresAtMs };
}

test('a token works once; used again it is refused, whatever it did', async () => {
  const call = callTo(host);
  const token = await signRouteToken(claimsOf(call), frame('once'), sides.keys.waybill);
  const first = send(call, { token, jti: 'once' });
  (await work.times(1)).finish(DONE);
  expect((await first).outcome).toEqual(DONE);
  const again = await send(call, { token, jti: 'once' });
  expect(again.outcome).toMatchObject({ refusal: 'token_replayed', started: true });
});

test('a token that has expired is refused: a worker that wakes up late does nothing', async () => {
  const call = callTo(host, { expiresAtMs: Date.now() - 1_000 });
  expect(await sides.client.execute(call, BODY)).toEqual(refused('token_expired'));
});

test('a token for another body is refused', async () => {
  const call = callTo(host);
  const token = await signRouteToken(claimsOf(call), frame('body'), sides.keys.waybill);
  const answer = await send(call, { token, jti: 'body', body: json({ title: 'Other' }) });
  expect(answer.outcome).toEqual(refused('wrong_body'));
});

test('a token for another host is refused', async () => {
  const call = callTo(host);
  const audience = 'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp';
  const token = await signRouteToken(
    claimsOf(call),
    frame('host', { audience }),
    sides.keys.waybill,
  );
  expect((await send(call, { token, jti: 'host' })).outcome).toEqual(refused('wrong_audience'));
});

test('a token by another key or another issuer is refused', async () => {
  const stranger = clientOf(await newKey());
  expect(await stranger.execute(callTo(host), BODY)).toEqual(refused('token_invalid'));
  await stranger.close();
  const other = createHostClient({
    issuer: 'urn:waybill:other',
    key: sides.keys.waybill,
    nowMs: Date.now,
    newJti: () => 'j',
    connectionsPerHost: 1,
  });
  expect(await other.execute(callTo(host), BODY)).toEqual(refused('token_invalid'));
  await other.close();
});

test.each([
  '',
  'e30.e30.',
  // {"alg":"none","typ":"waybill-route"}
  'eyJhbGciOiJub25lIiwidHlwIjoid2F5YmlsbC1yb3V0ZSJ9.e30.',
  'x'.repeat(14_000),
])('what is no token is refused, and the refusal is signed', async (token) => {
  const answer = await send(callTo(host), { token, jti: '-' });
  expect(answer).toMatchObject({ in_reply_to: null, action: null, fence: null });
  expect(answer.outcome).toEqual(refused('token_invalid'));
});

test.each<Partial<Record<keyof RouteAssignment, unknown>>>([
  { tenantId: 'umbrella' },
  { connectorId: 'mail' },
  { instanceId: 'acme-tickets-b' },
  { version: '1.0.1' },
  { manifestDigest: 'f'.repeat(64) },
  { replicaId: 'acme-tickets-2' },
])('a token with %j is not for this host', async (other) => {
  const call = callTo(host, { route: other as Partial<RouteAssignment> });
  expect(await sides.client.execute(call, BODY)).toEqual(refused('wrong_coordinates'));
  expect(await sides.client.reconcile(call)).toEqual(refused('wrong_coordinates'));
});

test('work is for the incarnation that was chosen; a question may be about an earlier one', async () => {
  const refusal = refused('wrong_coordinates');
  expect(await sides.client.execute(callTo(host, { incarnation: 2 }), BODY)).toEqual(refusal);
  expect(await sides.client.execute(callTo(host, { incarnation: 4 }), BODY)).toEqual(refusal);
  expect(await sides.client.reconcile(callTo(host, { incarnation: 4 }))).toEqual(refusal);
  const earlier = await sides.client.reconcile(callTo(host, { incarnation: 2 }));
  expect(earlier).toMatchObject({ outcome: { kind: 'not_started' } });
});

test('a revoked credential stops work, not questions', async () => {
  const call = callTo(host, { route: { credentialRevision: '6' } });
  expect(await sides.client.execute(call, BODY)).toEqual(refused('credential_revoked'));
  expect(await sides.client.cancel(call)).toMatchObject({ outcome: { kind: 'cancelled' } });
});

test('a token permits one thing: one to reconcile does not execute', async () => {
  const call = callTo(host);
  const claims = { ...claimsOf(call), purpose: 'reconcile' } as const;
  const token = await signRouteToken(claims, frame('purpose'), sides.keys.waybill);
  expect((await send(call, { token, jti: 'purpose' })).outcome).toEqual(
    refused('wrong_coordinates'),
  );
});

test('a token for another action than the one of the path is refused, about the one of the token', async () => {
  const call = callTo(host);
  const token = await signRouteToken(claimsOf(call), frame('path'), sides.keys.waybill);
  const answer = await send(call, { token, jti: 'path', action: 'another' });
  expect(answer.outcome).toEqual({
    ...{ kind: 'refused', refusal: 'wrong_coordinates', started: false, highest_fence: null },
  });
  await sides.client.execute(call, BODY);
  const begun = await send(call, { token, jti: 'path', action: 'another' });
  expect(begun.outcome).toMatchObject({ started: true, highest_fence: call.fence });
});

test('a host that lost its store refuses what was sent to the lost one, and cannot exclude it', async () => {
  const call = callTo(host);
  const claims = { ...claimsOf(call), store_epoch: 'an earlier one' };
  const token = await signRouteToken(claims, frame('epoch'), sides.keys.waybill);
  const answer = await send(call, { token, jti: 'epoch' });
  expect(answer.outcome).toMatchObject({ refusal: 'store_lost', started: true });
  const asked = { ...call, storeEpoch: 'an earlier one' };
  const lost = { kind: 'lost', cause: 'host', reason: 'store_lost' };
  expect(await sides.client.execute(asked, BODY)).toMatchObject(lost);
  expect(await sides.client.reconcile(asked)).toMatchObject(lost);
  const known = callTo(host, { storeEpoch: host.storeEpoch });
  expect(await sides.client.reconcile(known)).toMatchObject({ outcome: { kind: 'not_started' } });
});

test('without a token there is health, readiness and the manifest, and no more', async () => {
  const at = { ...callTo(host).route, timeoutMs: 1_000, signal: new AbortController().signal };
  expect(await sides.client.health(at)).toEqual({ kind: 'read', value: 'alive' });
  expect(await sides.client.ready(at)).toMatchObject({ value: { ready: true } });
  expect(await sides.client.manifest(at)).toMatchObject({
    value: { digest: host.manifestDigest, manifest: { connectorId: 'tickets' } },
  });
});
