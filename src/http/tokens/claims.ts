/** From the value of an Authorization header to a principal; shared by all token verifiers. */
import { errors, jwtVerify, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { SIDE_EFFECTS } from '../../domain/capabilities';
import { WaybillError } from '../../domain/errors';
import { NAME_PATTERN, tenantId } from '../../domain/ids';
import { scopesOf } from '../roles';
import type { Principal, TokenIssuer } from '../tokens';

const CLOCK_SKEW_S = 30;

/** A subject ends up in audit log and receipts: text that they can hold. */
const PLAIN_TEXT = /^[^\p{Cc}\p{Cs}]+$/u;

/** An id, or the beginning of ids and `*`. */
const CapabilityPattern = z
  .string()
  .max(100)
  .regex(/^[a-z0-9._-]*\*?$/)
  .min(1);

const Claims = z.object({
  tenant: z.string().regex(NAME_PATTERN),
  sub: z.string().max(255).regex(PLAIN_TEXT),
  scope: z.string().default(''),
  roles: z.array(z.string().max(255)).max(100).default([]),
  capabilities: z.array(CapabilityPattern).max(1000).optional(),
  max_side_effect: z.enum(SIDE_EFFECTS).optional(),
});

export interface TokenKeys extends TokenIssuer {
  readonly keys: JWTVerifyGetKey;
  readonly algorithms: readonly string[];
  /** What time it is for `exp` and `nbf`, in ms since the epoch; the database's (docs/architecture, "Postgres"). */
  readonly nowMs: () => number;
}

/**
 * The principal of a token with signature, issuer, audience, expiry and claims all right.
 * @throws WaybillError `unauthenticated`, with a reason that quotes nothing of the token; what else
 *   the keys throw is passed on
 */
export async function principalOf(
  authorization: string | undefined,
  { issuer, audience, keys, algorithms, nowMs }: TokenKeys,
): Promise<Principal> {
  const verified = await jwtVerify(bearerToken(authorization), keys, {
    issuer,
    audience,
    algorithms: [...algorithms],
    currentDate: new Date(nowMs()),
    clockTolerance: CLOCK_SKEW_S,
    requiredClaims: ['exp', 'sub', 'tenant'],
  }).catch((error: unknown) => {
    if (error instanceof errors.JOSEError) throw refused(reasonOf(error), error);
    // Of a key that is too short, say.
    if (error instanceof TypeError) throw refused("the token's key is none that counts", error);
    throw error;
  });
  const claims = Claims.safeParse(verified.payload);
  if (!claims.success) {
    throw refused(`the token's claim ${String(claims.error.issues[0]?.path[0])} is not usable`);
  }
  const { tenant, sub, scope, roles, ...limits } = claims.data;
  const named = scope.split(' ').filter((name) => name !== '');
  return {
    tenantId: tenantId(tenant),
    subject: sub,
    scopes: new Set([...named, ...scopesOf(roles)]),
    limits: {
      capabilities: limits.capabilities ?? null,
      maxSideEffect: limits.max_side_effect ?? null,
    },
  };
}

function bearerToken(authorization: string | undefined): string {
  const match = /^bearer ([A-Za-z0-9._~+/=-]+)$/i.exec(authorization ?? '');
  if (match?.[1] === undefined) throw refused('');
  return match[1];
}

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'the token has expired';
  if (error instanceof errors.JWTClaimValidationFailed) {
    return `the token's claim ${error.claim} is missing or wrong`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return "the token's algorithm is not allowed";
  return "the token's signature does not verify";
}

function refused(detail: string, cause?: unknown): WaybillError {
  return new WaybillError('unauthenticated', detail, { cause });
}
