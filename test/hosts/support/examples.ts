/** The worked examples of docs/host-protocol.md, made by the product's own code from published keys. */
import type {
  HostAnswerClaims,
  HostVerdict,
  RouteTokenClaims,
} from '../../../src/domain/host-protocol';
import { signAnswer } from '../../../src/hosts/protocol/answers';
import { didOfKey } from '../../../src/signing/did-key';
import { sha256Hex } from '../../../src/hosts/protocol/jws';
import { LIFECYCLE_AUDIENCE, signLifecycleCall } from '../../../src/hosts/protocol/lifecycle-calls';
import { signRouteToken } from '../../../src/hosts/protocol/route-tokens';
import { importSigningKey } from '../../../src/signing/keys';

/** RFC 8037, appendix A.1. */
const WAYBILL_KEY = {
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

export interface Examples {
  readonly waybillJwk: string;
  readonly hostDid: string;
  readonly token: string;
  readonly tokenClaims: string;
  readonly answer: string;
  readonly answerClaims: string;
  readonly refusal: string;
  readonly refusalClaims: string;
  readonly lifecycle: string;
  readonly lifecycleClaims: string;
}

export async function examples(): Promise<Examples> {
  const waybill = await importSigningKey(JSON.stringify(WAYBILL_KEY));
  const host = await importSigningKey(JSON.stringify(HOST_KEY));
  const hostDid = didOfKey(host.publicJwk.x);
  const token = await signRouteToken(
    EXAMPLE_CLAIMS,
    {
      issuer: EXAMPLE_ISSUER,
      audience: hostDid,
      jti: EXAMPLE_JTI,
      issuedAtMs: EXAMPLE_NOW_S * 1000,
      expiresAtMs: (EXAMPLE_NOW_S + 40) * 1000,
    },
    waybill,
  );
  const claimsOf = (outcome: HostVerdict): HostAnswerClaims => ({
    iss: hostDid,
    iat: EXAMPLE_NOW_S + 1,
    in_reply_to: EXAMPLE_JTI,
    tenant: EXAMPLE_CLAIMS.tenant,
    action: EXAMPLE_CLAIMS.action,
    fence: EXAMPLE_CLAIMS.fence,
    token_sha256: sha256Hex(token),
    body_sha256: sha256Hex(EXAMPLE_BODY),
    store_epoch: '0198c0de-2222-4000-8000-000000000001',
    outcome,
  });
  const answer = await signAnswer(
    claimsOf({ kind: 'succeeded', result: { ticketId: 'T-1042', reference: null } }),
    host,
  );
  const refusal = await signAnswer(
    claimsOf({
      kind: 'refused',
      refusal: 'stale_fence',
      started: false,
      highest_fence: EXAMPLE_CLAIMS.fence + 5_000_000,
    }),
    host,
  );
  const lifecycle = await signLifecycleCall(
    {
      iss: hostDid,
      sub: 'acme-tickets-1',
      aud: LIFECYCLE_AUDIENCE,
      iat: EXAMPLE_NOW_S,
      exp: EXAMPLE_NOW_S + 60,
      operation: 'register',
      request_id: '0198c0de-3333-4000-8000-000000000001',
      previous_sequence: 0,
      store_epoch: '0198c0de-2222-4000-8000-000000000001',
      manifest_digest: EXAMPLE_CLAIMS.manifest_digest,
      healthy: true,
      in_flight: 0,
    },
    host,
  );
  return {
    waybillJwk: JSON.stringify(waybill.publicJwk),
    hostDid,
    token,
    tokenClaims: readable(token),
    answer,
    answerClaims: readable(answer),
    refusal,
    refusalClaims: readable(refusal),
    lifecycle,
    lifecycleClaims: readable(lifecycle),
  };
}

/** The payload of a JWS as a person reads it. */
function readable(jws: string): string {
  const payload = Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString('utf8');
  return JSON.stringify(JSON.parse(payload), null, 2);
}
