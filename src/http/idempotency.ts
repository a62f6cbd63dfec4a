/**
 * Requests that may be repeated: the header `Idempotency-Key` as draft-ietf-httpapi-idempotency-key-header
 * describes it (docs/architecture, "Idempotency keys"). A route takes part by `config.idempotencyKey`.
 */
import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Database } from '../db/database';
import type { IdempotencyKey } from '../db/idempotency-keys';
import {
  claimIdempotencyKey,
  keepIdempotentAnswer,
  renewIdempotencyKey,
} from '../db/idempotency-keys';
import type { ErrorCode } from '../domain/errors';
import { WaybillError } from '../domain/errors';
import { point } from '../points';
import { canonicalJson } from '../schemas/canonical-json';
import { principalOf } from './authorization';
import { HttpProblem } from './problems';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Whether a call of this route may carry, or must carry, an Idempotency-Key; `own` where what the
     * route makes has the key itself.
     */
    idempotencyKey?: 'optional' | 'required' | 'own';
  }
}

/** What a route that takes keys can answer because of them. */
export const KEY_PROBLEMS = [
  'idempotency_in_flight',
  'idempotency_key_reused',
] as const satisfies readonly ErrorCode[];

/** How long a request that has died keeps its key from a next one. */
const LEASE_MS = 10_000;
const RENEW_MS = 3_000;

/** How long a key is known. */
const KEEP_MS = 86_400_000;

/** An answer that is larger is not kept: the request is then made again. */
const MOST_KEPT_CHARS = 262_144;

/** A string of RFC 9651; and, as many clients write it, the bare text. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const BARE = /^[A-Za-z0-9!#$%&'*+\-./:=?@^_`|~]+$/;
const MAX_KEY_LENGTH = 255;

/** Answers of a passing fault: the same request may come to another one. */
const PASSING: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

interface Claim {
  readonly key: IdempotencyKey;
  readonly claim: number;
  readonly effectId: string;
  readonly renewing: NodeJS.Timeout;
}

const claims = new WeakMap<FastifyRequest, Claim>();

/**
 * The UUID that what this request makes is to be known by: the same for every try of one key, so that one
 * that died after it made something is followed by one that finds it. Null: the request has no key.
 */
export function effectIdOf(request: FastifyRequest): string | null {
  return claims.get(request)?.effectId ?? null;
}

/**
 * Takes keys for the instance's routes that say so; it must require tokens before. A request is
 * claimed once its input is valid; its answer is kept before it is sent, unless that is a fault of ours
 * or a passing one.
 */
export function takeIdempotencyKeys(app: FastifyInstance, shared: SharedByClaims): void {
  const { data, log } = shared;
  app.addHook('preHandler', async (request, reply) => {
    const wanted = request.routeOptions.config.idempotencyKey;
    if (wanted === undefined || wanted === 'own') return;
    const key = keyOf(request);
    if (key !== null) await claimOrAnswer(request, reply, { ...shared, key });
    else if (wanted === 'required')
      throw invalid('is missing: send a new random text with each call');
  });
  app.addHook('onSend', async (request, reply, payload: unknown) => {
    const claim = claims.get(request);
    if (claim === undefined) return;
    claims.delete(request);
    clearInterval(claim.renewing);
    await point('request.done');
    await settle(data, claim, reply, payload).catch((error: unknown) => {
      // What was asked for is done: its answer goes out, and the lease lets a next request in.
      log.warn({ requestId: request.id, err: messageOf(error) }, 'an answer could not be kept');
    });
  });
}

interface SharedByClaims {
  /** Role waybill_data. */
  readonly data: Database;
  readonly log: Logger;
  /** A new UUID. */
  readonly newEffectId: () => string;
}

interface Claiming extends SharedByClaims {
  readonly key: IdempotencyKey;
}

async function claimOrAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  { data, log, key, newEffectId }: Claiming,
): Promise<void> {
  const sha256 = digestOf(request);
  const found = await claimIdempotencyKey(data, key, {
    sha256,
    leaseMs: LEASE_MS,
    keepMs: KEEP_MS,
    effectId: newEffectId(),
  });
  switch (found.kind) {
    case 'claimed': {
      const renewing = setInterval(() => {
        renewIdempotencyKey(data, key, found.claim, LEASE_MS).catch((error: unknown) => {
          log.warn({ requestId: request.id, err: messageOf(error) }, 'a claim was not renewed');
        });
      }, RENEW_MS).unref();
      const { claim, effectId } = found;
      claims.set(request, { key, claim, effectId, renewing });
      return;
    }
    case 'answered':
      // Sent: the handler is passed over.
      await reply
        .code(found.status)
        .header('idempotent-replayed', 'true')
        .type(found.answer.type)
        .send(found.answer.body);
      return;
    case 'in_flight':
      throw new HttpProblem('idempotency_in_flight', '', {
        headers: { 'retry-after': String(Math.max(1, Math.ceil(found.waitMs / 1000))) },
      });
    case 'reused':
      throw new WaybillError('idempotency_key_reused', '', { field: 'idempotency-key' });
  }
}

async function settle(
  data: Database,
  { key, claim }: Claim,
  reply: FastifyReply,
  payload: unknown,
): Promise<void> {
  const { statusCode: status } = reply;
  const type = reply.getHeader('content-type');
  const kept =
    status < 500 && !PASSING.has(status) && typeof payload === 'string' && typeof type === 'string';
  if (kept && payload.length <= MOST_KEPT_CHARS) {
    await keepIdempotentAnswer(data, key, claim, { status, type, body: payload });
  } else {
    await renewIdempotencyKey(data, key, claim, 0);
  }
}

function keyOf(request: FastifyRequest): IdempotencyKey | null {
  const text = request.headers['idempotency-key'];
  if (text === undefined) return null;
  const key = typeof text === 'string' ? readKey(text.trim()) : null;
  if (key === null || key.length > MAX_KEY_LENGTH) {
    throw invalid(`must be one text of 1 to ${MAX_KEY_LENGTH} characters, such as "8e03978e-40d5"`);
  }
  const { tenantId, subject } = principalOf(request);
  const route = `${request.method} ${request.routeOptions.url ?? ''}`;
  return { tenantId, principal: subject, route, key };
}

function readKey(text: string): string | null {
  if (BARE.test(text)) return text;
  const quoted = QUOTED.exec(text)?.[1] ?? '';
  return quoted === '' ? null : quoted.replace(/\\(["\\])/g, '$1');
}

/** All that the request asks for, whatever the order of its fields. */
function digestOf({ params, query, body }: FastifyRequest): Uint8Array {
  return createHash('sha256').update(canonicalJson({ params, query, body })).digest();
}

function invalid(problem: string): WaybillError {
  const options = { field: 'idempotency-key' };
  return new WaybillError('invalid_request', `The header Idempotency-Key ${problem}.`, options);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
