/** Tokens of an identity provider, verified with the key set that it publishes. */
import { createRemoteJWKSet, customFetch, errors, jwksCache } from 'jose';
import type { ExportedJWKSCache, FetchImplementation, JWKSCacheInput, JWTVerifyGetKey } from 'jose';
import { WaybillError } from '../../domain/errors';
import type { TokenIssuer, TokenVerifier } from '../tokens';
import { principalOf } from './claims';

/** Signatures with a public key only: nobody who can verify a token could also make one. */
const ALGORITHMS = ['EdDSA', 'Ed25519', 'ES256', 'ES384', 'ES512', 'RS256', 'PS256', 'PS384'];

const FETCH_TIMEOUT_MS = 5_000;

/** Faults of the token itself; whatever else a look-up throws is the key set's. */
const TOKEN_FAULTS = [
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
];

/** A key id that is not known has the set fetched again, but not more often than that. */
const COOLDOWN_MS = 30_000;

/** Nor is a set fetched again right after it could not be. */
const PAUSE_MS = 1_000;

/** A key that is no longer in the set is not believed for longer than that. */
const KEPT_MS = 600_000;

/** More than that between two readings is no correction of a clock. */
const JUMP_MS = 5_000;

export interface JwksOptions extends TokenIssuer {
  readonly jwksUrl: URL;
  /** What time it is for tokens, in ms since the epoch. */
  readonly nowMs: () => number;
  /** Between two fetches; 30 s unless told. */
  readonly cooldownMs?: number;
}

/** The keys are fetched at first use, kept, and fetched again for a key id that is not known. */
export function jwksTokens({ jwksUrl, issuer, audience, ...options }: JwksOptions): TokenVerifier {
  const { cooldownMs = COOLDOWN_MS, nowMs } = options;
  const fetched = seldom(Math.min(cooldownMs, PAUSE_MS));
  const remote = agingByItself((cache) =>
    createRemoteJWKSet(jwksUrl, {
      timeoutDuration: FETCH_TIMEOUT_MS,
      cooldownDuration: cooldownMs,
      cacheMaxAge: KEPT_MS,
      [customFetch]: fetched,
      [jwksCache]: cache,
    }),
  );
  const keys: JWTVerifyGetKey = async (header, token) => {
    try {
      return await remote()(header, token);
    } catch (error) {
      if (TOKEN_FAULTS.some((fault) => error instanceof fault)) throw error;
      throw new WaybillError('token_keys_unavailable', '', { cause: error });
    }
  };
  return {
    verify: (authorization) =>
      principalOf(authorization, { issuer, audience, keys, algorithms: ALGORITHMS, nowMs }),
  };
}

/**
 * jose takes the age of a key set by the clock of this process. Where that has jumped, the set is made anew of
 * the same keys with the age that they have: none is believed for longer, and none is asked for again.
 */
function agingByItself<Value>(make: (cache: JWKSCacheInput) => Value): () => Value {
  const cache: JWKSCacheInput = {};
  const wallMs = () => Date.now() - performance.now();
  let madeAtMs = wallMs();
  let value = make(cache);
  return () => {
    const jumpMs = wallMs() - madeAtMs;
    if (Math.abs(jumpMs) > JUMP_MS) {
      madeAtMs += jumpMs;
      if (wasFetched(cache)) cache.uat += jumpMs;
      value = make(cache);
    }
    return value;
  };
}

function wasFetched(cache: JWKSCacheInput): cache is ExportedJWKSCache {
  return 'uat' in cache;
}

/** A provider that is down is not asked by each of those who call meanwhile, whatever their tokens say. */
function seldom(pauseMs: number): FetchImplementation {
  let notBeforeMs = -Infinity;
  return async (url, options) => {
    if (performance.now() < notBeforeMs) throw new Error('the key set was asked for a moment ago');
    const response = await fetch(url, options).finally(() => {
      notBeforeMs = performance.now() + pauseMs;
    });
    return response;
  };
}
