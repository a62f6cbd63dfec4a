/** Lifecycle calls as Waybill verifies them. Doubled: nothing. */
import { randomUUID } from 'node:crypto';
import type { LifecycleClaims } from '../../../src/domain/host-protocol';
import { didOfKey } from '../../../src/signing/did-key';
import { signJson } from '../../../src/hosts/protocol/jws';
import {
  LIFECYCLE_AUDIENCE,
  signLifecycleCall,
  verifyLifecycleCall,
  type ExpectedLifecycleCall,
} from '../../../src/hosts/protocol/lifecycle-calls';
import type { SigningKey } from '../../../src/signing/keys';
import { newKey } from '../support/fixtures';

const NOW_S = 1_800_000_000;
let key: SigningKey;
let claims: LifecycleClaims;
let expected: ExpectedLifecycleCall;

beforeAll(async () => {
  key = await newKey();
  const did = didOfKey(key.publicJwk.x);
  claims = {
    iss: did,
    sub: 'acme-tickets-1',
    aud: LIFECYCLE_AUDIENCE,
    iat: NOW_S,
    exp: NOW_S + 60,
    operation: 'heartbeat',
    request_id: randomUUID(),
    previous_sequence: 4,
    store_epoch: 'epoch',
    manifest_digest: 'a'.repeat(64),
    healthy: true,
    in_flight: 0,
  };
  expected = {
    replicaId: 'acme-tickets-1',
    operation: 'heartbeat',
    peerDid: did,
    audience: LIFECYCLE_AUDIENCE,
    nowMs: NOW_S * 1000,
  };
});

test('a call of the replica is verified, also when it is repeated', async () => {
  const jws = await signLifecycleCall(claims, key);
  const verified = { kind: 'verified', claims };
  expect(await verifyLifecycleCall(jws, expected)).toEqual(verified);
  expect(await verifyLifecycleCall(jws, expected)).toEqual(verified);
});

test('a call by another key is refused, whatever it says', async () => {
  const jws = await signLifecycleCall(claims, await newKey());
  expect(await verifyLifecycleCall(jws, expected)).toMatchObject({ reason: 'wrong_signature' });
});

test('an answer of the same key does not pass for a call', async () => {
  const jws = await signJson(claims, 'waybill-host-answer', key);
  expect(await verifyLifecycleCall(jws, expected)).toMatchObject({ reason: 'wrong_signature' });
});

test.each<Partial<ExpectedLifecycleCall>>([
  { replicaId: 'acme-tickets-2' },
  { operation: 'offline' },
  { audience: 'urn:waybill:another' },
])('a call for something else than %j is refused', async (other) => {
  const jws = await signLifecycleCall(claims, key);
  const answer = await verifyLifecycleCall(jws, { ...expected, ...other });
  expect(answer).toEqual({ kind: 'refused', reason: 'wrong_call' });
});

test.each([
  { what: 'too old', iat: NOW_S - 121, exp: NOW_S - 61, reason: 'expired' },
  { what: 'of a clock that is far ahead', iat: NOW_S + 61, exp: NOW_S + 100, reason: 'expired' },
  { what: 'good for too long', iat: NOW_S, exp: NOW_S + 3_600, reason: 'expired' },
])('a call that is $what is refused', async ({ iat, exp, reason }) => {
  const jws = await signLifecycleCall({ ...claims, iat, exp }, key);
  expect(await verifyLifecycleCall(jws, expected)).toEqual({ kind: 'refused', reason });
});

test.each(['', 'a.b.c', 'x'.repeat(1_000_000)])('what is no JWS is refused', async (text) => {
  expect(await verifyLifecycleCall(text, expected)).toMatchObject({ reason: 'wrong_signature' });
});
