/** docs/host-protocol.md: its examples are what the code makes and takes, its tables are complete. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { HOST_REFUSALS } from '../../src/domain/host-protocol';
import { openAnswer } from '../../src/hosts/protocol/answers';
import { sha256Hex } from '../../src/hosts/protocol/jws';
import { LIFECYCLE_AUDIENCE, verifyLifecycleCall } from '../../src/hosts/protocol/lifecycle-calls';
import { openRouteToken } from '../../src/hosts/protocol/route-tokens';
import {
  HostAnswerSchema,
  LifecycleClaimsSchema,
  RouteTokenSchema,
  TokenTrust,
} from '../../src/schemas/host-messages';
import {
  EXAMPLE_BODY,
  EXAMPLE_CLAIMS,
  EXAMPLE_ISSUER,
  EXAMPLE_JTI,
  EXAMPLE_NOW_S,
  examples,
  type Examples,
} from './support/examples';

const page = readFileSync(path.join(__dirname, '..', '..', 'docs', 'host-protocol.md'), 'utf8');
/** In the page's order: token, answer, refusal, lifecycle call. */
const [token = '', answer = '', refusal = '', call = ''] =
  page.match(/\beyJ[\w-]+\.[\w-]+\.[\w-]+/g) ?? [];

let made: Examples;
beforeAll(async () => {
  made = await examples();
});

test('every example is, byte by byte, what the code makes', () => {
  const missing = Object.entries(made).filter(([, text]) => !page.includes(text as string));
  expect(missing).toEqual([]);
  expect(page).toContain(EXAMPLE_BODY);
  expect([token, answer, refusal, call]).toEqual([
    made.token,
    made.answer,
    made.refusal,
    made.lifecycle,
  ]);
});

test("the page's token verifies with the page's key", async () => {
  const jwk: unknown = JSON.parse(made.waybillJwk);
  const trust = TokenTrust.parse({ issuer: EXAMPLE_ISSUER, keys: { keys: [jwk] } });
  expect(await openRouteToken(token, trust)).toMatchObject(EXAMPLE_CLAIMS);
});

test("the page's answers verify with the page's DID, as answers to its token", async () => {
  const expected = {
    peerDid: made.hostDid,
    jti: EXAMPLE_JTI,
    tenant: EXAMPLE_CLAIMS.tenant,
    action: EXAMPLE_CLAIMS.action,
    fence: EXAMPLE_CLAIMS.fence,
    tokenSha256: sha256Hex(token),
    bodySha256: sha256Hex(EXAMPLE_BODY),
  };
  expect(await openAnswer(answer, expected)).toMatchObject({
    claims: { outcome: { kind: 'succeeded' } },
  });
  expect(await openAnswer(refusal, expected)).toMatchObject({
    claims: { outcome: { kind: 'refused', refusal: 'stale_fence', started: false } },
  });
});

test("the page's lifecycle call verifies", async () => {
  const verified = await verifyLifecycleCall(call, {
    replicaId: 'acme-tickets-1',
    operation: 'register',
    peerDid: made.hostDid,
    audience: LIFECYCLE_AUDIENCE,
    nowMs: EXAMPLE_NOW_S * 1000,
  });
  expect(verified.kind).toBe('verified');
});

test('every refusal and every claim has its row', () => {
  const rows = [...page.matchAll(/^\| *(`.*?) *\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z0-9_]+)`/g)].map(([, name = '']) => name),
  );
  const claims = [RouteTokenSchema, HostAnswerSchema, LifecycleClaimsSchema].flatMap((schema) =>
    Object.keys((schema as unknown as { shape: object }).shape),
  );
  const missing = [...HOST_REFUSALS, ...claims].filter((name) => !rows.includes(name));
  expect(missing).toEqual([]);
});
