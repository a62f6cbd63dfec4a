/**
 * The worked examples of docs/host-protocol.md, as docs/host-protocol/examples.json holds them: made by the
 * product's own code from published keys.
 */
import type {
  HostAnswerClaims,
  HostVerdict,
  LifecycleClaims,
  RouteTokenClaims,
} from '../../../src/domain/host-protocol';
import { signAnswer } from '../../../src/hosts/protocol/answers';
import { didOfKey } from '../../../src/signing/did-key';
import { sha256Hex } from '../../../src/hosts/protocol/jws';
import { LIFECYCLE_AUDIENCE, signLifecycleCall } from '../../../src/hosts/protocol/lifecycle-calls';
import { JOSE_TYPE, actionRequest } from '../../../src/hosts/protocol/limits';
import { signRouteToken } from '../../../src/hosts/protocol/route-tokens';
import type { LifecycleReply } from '../../../src/schemas/host-messages';
import { importSigningKey, type SigningKey } from '../../../src/signing/keys';

/** RFC 8037, appendix A.1. */
export const WAYBILL_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
};
/** RFC 8032, section 7.1, test 2. */
const HOST_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: Buffer.from(
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    'hex',
  ).toString('base64url'),
  x: Buffer.from(
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    'hex',
  ).toString('base64url'),
};
/** Where the host of the examples listens. */
export const EXAMPLE_HOST = '127.0.0.1:7390';
const STORE_EPOCH = '0198c0de-2222-4000-8000-000000000001';
export const EXAMPLE_ISSUER = 'urn:waybill:routes';
export const EXAMPLE_BODY = '{"title":"Broken lamp"}';
export const EXAMPLE_JTI = '0198c0de-0000-7000-8000-000000000001';
/** 2026-01-01T00:00:00Z. */
export const EXAMPLE_NOW_S = 1_767_225_600;

export const EXAMPLE_CLAIMS: RouteTokenClaims = {
  tenant: 'acme',
  action: '0198c0de-1111-7000-8000-000000000001.1',
  capability: 'tickets.create',
  connector: 'tickets',
  instance: 'acme-tickets',
  version: '1.0.0',
  manifest_digest: '5f'.repeat(32),
  replica: 'acme-tickets-1',
  incarnation: 3,
  store_epoch: null,
  sent_ago_ms: null,
  begin_anew: false,
  topology: { region: 'eu', zone: 'eu-1', capacityClass: 'standard' },
  fence: 1_767_225_600_000_000,
  catalog_revision: 12,
  binding_policy_revision: 2,
  credential_revision: '7',
  quota_policy: null,
  approval: null,
  purpose: 'execute',
  body_sha256: sha256Hex(EXAMPLE_BODY),
};

/** A signed message: what it says, and its text. */
interface Signed {
  readonly claims: unknown;
  readonly jws: string;
}

/** What docs/host-protocol/examples.json holds. */
export interface Examples {
  /** Private keys that are published: nothing may be trusted that they sign. */
  readonly keys: { readonly waybill: object; readonly host: object };
  readonly hostDid: string;
  readonly trust: object;
  readonly body: string;
  readonly token: Signed;
  readonly answers: Readonly<Record<'succeeded' | 'running' | 'stale_fence', Signed>>;
  readonly lifecycle: Readonly<
    Record<'register' | 'heartbeat', Signed & { reply: LifecycleReply }>
  >;
  /** As they go over the wire, with CRLF. */
  readonly http: Readonly<Record<'execute' | 'answer' | 'register' | 'accepted', string>>;
}

export async function examples(): Promise<Examples> {
  const waybill = await importSigningKey(JSON.stringify(WAYBILL_KEY));
  const host = await importSigningKey(JSON.stringify(HOST_KEY));
  const hostDid = didOfKey(host.publicJwk.x);
  const token = await tokenFor(waybill, hostDid);
  const answer = (outcome: HostVerdict) => answerOf(outcome, { host, hostDid, token });
  const highest_fence = EXAMPLE_CLAIMS.fence + 5_000_000;
  const answers = {
    succeeded: await answer({
      kind: 'succeeded',
      result: { ticketId: 'T-1042', reference: null },
    }),
    running: await answer({ kind: 'running', progress: { note: 'page 40 of 100', percent: 40 } }),
    stale_fence: await answer({
      ...{ kind: 'refused', refusal: 'stale_fence', started: false, highest_fence },
    }),
  };
  const trust = { issuer: EXAMPLE_ISSUER, keys: { keys: [{ ...waybill.publicJwk }] } };
  const accepted = { kind: 'accepted', incarnation: 3, leaseMs: 30_000 } as const;
  const lifecycle = {
    register: {
      ...(await lifecycleCall(host, hostDid, { operation: 'register', previous_sequence: 0 })),
      reply: { ...accepted, sequence: 1, status: 'registered', trust },
    },
    heartbeat: {
      ...(await lifecycleCall(host, hostDid, {
        ...{ operation: 'heartbeat', previous_sequence: 1, in_flight: 1 },
        request_id: '0198c0de-3333-4000-8000-000000000002',
      })),
      reply: { ...accepted, sequence: 2, status: 'ready', trust },
    },
  } as const;
  return {
    keys: { waybill: WAYBILL_KEY, host: HOST_KEY },
    ...{ hostDid, trust, body: EXAMPLE_BODY, token: { claims: claimsIn(token), jws: token } },
    ...{ answers, lifecycle },
    http: {
      execute: executeRequest(token),
      answer: response(JOSE_TYPE, answers.succeeded.jws),
      register: registerRequest(lifecycle.register.jws),
      accepted: response('application/json', JSON.stringify(lifecycle.register.reply)),
    },
  };
}

async function tokenFor(waybill: SigningKey, audience: string): Promise<string> {
  const [issuedAtMs, expiresAtMs] = [EXAMPLE_NOW_S * 1000, (EXAMPLE_NOW_S + 40) * 1000];
  const frame = { issuer: EXAMPLE_ISSUER, audience, jti: EXAMPLE_JTI, issuedAtMs, expiresAtMs };
  return await signRouteToken(EXAMPLE_CLAIMS, frame, waybill);
}

async function answerOf(
  outcome: HostVerdict,
  { host, hostDid, token }: { host: SigningKey; hostDid: string; token: string },
): Promise<Signed> {
  const claims: HostAnswerClaims = {
    iss: hostDid,
    iat: EXAMPLE_NOW_S + 1,
    in_reply_to: EXAMPLE_JTI,
    tenant: EXAMPLE_CLAIMS.tenant,
    action: EXAMPLE_CLAIMS.action,
    fence: EXAMPLE_CLAIMS.fence,
    token_sha256: sha256Hex(token),
    body_sha256: sha256Hex(EXAMPLE_BODY),
    store_epoch: STORE_EPOCH,
    outcome,
  };
  const jws = await signAnswer(claims, host);
  return { claims: claimsIn(jws), jws };
}

async function lifecycleCall(
  host: SigningKey,
  hostDid: string,
  more: Pick<LifecycleClaims, 'operation' | 'previous_sequence'> & Partial<LifecycleClaims>,
): Promise<Signed> {
  const claims: LifecycleClaims = {
    iss: hostDid,
    sub: EXAMPLE_CLAIMS.replica,
    aud: LIFECYCLE_AUDIENCE,
    iat: EXAMPLE_NOW_S,
    exp: EXAMPLE_NOW_S + 60,
    request_id: '0198c0de-3333-4000-8000-000000000001',
    store_epoch: STORE_EPOCH,
    manifest_digest: EXAMPLE_CLAIMS.manifest_digest,
    healthy: true,
    in_flight: 0,
    ...more,
  };
  const jws = await signLifecycleCall(claims, host);
  return { claims: claimsIn(jws), jws };
}

function executeRequest(token: string): string {
  return http([
    `PUT ${actionRequest('execute', EXAMPLE_CLAIMS.action).path} HTTP/1.1`,
    `host: ${EXAMPLE_HOST}`,
    'connection: keep-alive',
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'accept: application/jose',
    `content-length: ${String(EXAMPLE_BODY.length)}`,
    '',
    EXAMPLE_BODY,
  ]);
}

function registerRequest(jws: string): string {
  return http([
    `POST /v1/hosts/${EXAMPLE_CLAIMS.replica}/register HTTP/1.1`,
    'host: waybill.example',
    'content-type: application/jose',
    `content-length: ${String(jws.length)}`,
    '',
    jws,
  ]);
}

function response(type: string, body: string): string {
  const head = ['HTTP/1.1 200 OK', `content-type: ${type}`];
  return http([...head, `content-length: ${String(body.length)}`, '', body]);
}

function http(lines: readonly string[]): string {
  return lines.join('\r\n');
}

/** The payload of a JWS, in its own order. */
function claimsIn(jws: string): unknown {
  return JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString('utf8'));
}
