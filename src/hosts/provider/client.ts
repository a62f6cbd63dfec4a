/** How the reference connector talks to the controlled provider. */
import { request } from 'undici';
import type { z } from 'zod';
import { RateLimited } from '../kit/connector';
import { readCapped } from '../protocol/read-capped';
import { Effect } from './ledger';
import { Effects, ProviderRecord } from './messages';

export interface ProviderAccess {
  readonly url: string;
  /** The account's bearer token. */
  readonly token: string;
  /** After that a request is not under way any more. */
  readonly timeoutMs: number;
}

/** A definite answer of the provider that is not the one asked for. */
export class ProviderRefusal extends Error {
  readonly status: number;
  /** How long it wants to be left alone, in milliseconds; null: it has not said. */
  readonly retryAfterMs: number | null;

  constructor(status: number, retryAfter: unknown) {
    super(`the provider answered ${status}`);
    this.name = 'ProviderRefusal';
    this.status = status;
    const seconds = typeof retryAfter === 'string' && /^\d{1,6}$/.test(retryAfter);
    this.retryAfterMs = seconds ? Number(retryAfter) * 1_000 : null;
  }
}

/** Of a provider that limits without saying for how long. */
const USUAL_PAUSE_MS = 1_000;

export interface NewWork {
  readonly title: string;
  readonly reference: string | null;
  readonly durationMs?: number;
  /** Under which it is done; null: it needs none. */
  readonly approval?: string | null;
}

const ANSWER_LIMIT_BYTES = 262_144;

export class ProviderClient {
  readonly #access: ProviderAccess;

  constructor(access: ProviderAccess) {
    this.#access = access;
  }

  /** @throws RateLimited where the provider wants to be left alone; then there is no effect */
  async create(kind: 'tickets' | 'jobs', work: NewWork, key: string | null): Promise<Effect> {
    const headers = key === null ? {} : { 'idempotency-key': key };
    const body = JSON.stringify(work);
    const call = { method: 'POST', path: `/v1/${kind}`, headers, body } as const;
    return await this.#call(Effect, call).catch(putOff);
  }

  async findByReference(reference: string): Promise<Effect[]> {
    const path = `/v1/effects?reference=${encodeURIComponent(reference)}`;
    return (await this.#call(Effects, { method: 'GET', path })).effects;
  }

  async effect(id: string): Promise<Effect> {
    return await this.#call(Effect, { method: 'GET', path: `/v1/effects/${id}` });
  }

  async cancel(id: string): Promise<Effect> {
    return await this.#call(Effect, { method: 'POST', path: `/v1/effects/${id}/cancel` });
  }

  async record(id: string): Promise<ProviderRecord> {
    const path = `/v1/records/${encodeURIComponent(id)}`;
    return await this.#call(ProviderRecord, { method: 'GET', path }).catch(putOff);
  }

  /** Throws `ProviderRefusal` for a 4xx; anything else thrown means that nobody knows. */
  async #call<Value>(schema: z.ZodType<Value>, call: ProviderCall): Promise<Value> {
    const { url, token, timeoutMs } = this.#access;
    const content = call.body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await request(new URL(call.path, url), {
      method: call.method,
      headers: { authorization: `Bearer ${token}`, ...content, ...call.headers },
      body: call.body ?? null,
      signal: AbortSignal.timeout(timeoutMs),
    });
    const bytes = await readCapped(response.body, ANSWER_LIMIT_BYTES);
    const { statusCode } = response;
    if (statusCode >= 400 && statusCode < 500) {
      throw new ProviderRefusal(statusCode, response.headers['retry-after']);
    }
    if (statusCode >= 300 || bytes === null) {
      throw new Error(`the provider answered ${statusCode}`);
    }
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  }
}

/** The first call of an action: a 429 to it is proof that nothing began. */
function putOff(error: unknown): never {
  if (!(error instanceof ProviderRefusal) || error.status !== 429) throw error;
  throw new RateLimited(error.retryAfterMs ?? USUAL_PAUSE_MS);
}

interface ProviderCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
