/** How the reference connector talks to the controlled provider. */
import { request } from 'undici';
import type { z } from 'zod';
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

  constructor(status: number) {
    super(`the provider answered ${status}`);
    this.name = 'ProviderRefusal';
    this.status = status;
  }
}

export interface NewWork {
  readonly title: string;
  readonly reference: string | null;
  readonly durationMs?: number;
}

const ANSWER_LIMIT_BYTES = 262_144;

export class ProviderClient {
  readonly #access: ProviderAccess;

  constructor(access: ProviderAccess) {
    this.#access = access;
  }

  async create(kind: 'tickets' | 'jobs', work: NewWork, key: string | null): Promise<Effect> {
    const headers = key === null ? {} : { 'idempotency-key': key };
    const body = JSON.stringify(work);
    return await this.#call(Effect, { method: 'POST', path: `/v1/${kind}`, headers, body });
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
    return await this.#call(ProviderRecord, { method: 'GET', path });
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
    if (statusCode >= 400 && statusCode < 500) throw new ProviderRefusal(statusCode);
    if (statusCode >= 300 || bytes === null) {
      throw new Error(`the provider answered ${statusCode}`);
    }
    return schema.parse(JSON.parse(bytes.toString('utf8')));
  }
}

interface ProviderCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}
