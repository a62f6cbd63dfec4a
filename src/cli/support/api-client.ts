/** A client of the HTTP API, with answers and problems as the API's own schemas say. */
import type { z } from 'zod';
import { errorCatalogue, WaybillError, type ErrorCode } from '../../domain/errors';
import {
  DeliveryHistory,
  DeliveryPage,
  ReplayAccepted,
  type ListDeliveriesQuery,
} from '../../schemas/api-deliveries';
import { KeySet } from '../../schemas/api-health';
import { Problem } from '../../schemas/api-problems';

const TIMEOUT_MS = 30_000;

export type ListQuery = z.input<typeof ListDeliveriesQuery>;

export class ApiClient {
  readonly #base: string;
  readonly #token: string;

  /** @param base without a path, e.g. `http://127.0.0.1:7380` */
  constructor(base: string, token: string) {
    this.#base = base.replace(/\/+$/, '');
    this.#token = token;
  }

  list(query: ListQuery): Promise<DeliveryPage> {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) search.set(name, value);
    }
    return this.#call(DeliveryPage, 'GET', `/factory/deliveries?${search.toString()}`);
  }

  show(deliveryId: string): Promise<DeliveryHistory> {
    return this.#call(DeliveryHistory, 'GET', deliveryPath(deliveryId));
  }

  replay(deliveryId: string, reason: string): Promise<ReplayAccepted> {
    return this.#call(ReplayAccepted, 'POST', `${deliveryPath(deliveryId)}/replay`, { reason });
  }

  async #call<Answer extends z.ZodType>(
    schema: Answer,
    method: 'GET' | 'POST',
    path: string,
    body?: object,
  ): Promise<z.output<Answer>> {
    const headers = { authorization: `Bearer ${this.#token}`, accept: 'application/json' };
    return await ask(schema, `${this.#base}${path}`, {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }
}

/** The public keys at an address, e.g. `http://127.0.0.1:7380/.well-known/jwks.json`. */
export function fetchKeySet(url: string): Promise<z.output<typeof KeySet>> {
  return ask(KeySet, url, { headers: { accept: 'application/json' } });
}

/**
 * @throws WaybillError with the code of the API's problem, or `api_unreachable` when there is no
 *   answer, or none that an API of Waybill would give
 */
async function ask<Answer extends z.ZodType>(
  schema: Answer,
  url: string,
  request: RequestInit,
): Promise<z.output<Answer>> {
  const response = await fetch(url, {
    ...request,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw unreachable(url, reasonOf(error), error);
  });
  const content: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problem(url, response.status, content);
  const answer = schema.safeParse(content);
  if (answer.success) return answer.data;
  throw unreachable(url, 'its answer is not that of a Waybill API');
}

function problem(url: string, status: number, content: unknown): WaybillError {
  const told = Problem.safeParse(content);
  if (!told.success) return unreachable(url, `it answered ${status}`);
  const { code, detail, field } = told.data;
  if (!isKnown(code)) return unreachable(url, `it answered ${status}: ${detail} (${code})`);
  return new WaybillError(code, detail, field === undefined ? {} : { field });
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

function unreachable(url: string, reason: string, cause?: unknown): WaybillError {
  const { origin } = new URL(url);
  return new WaybillError(
    'api_unreachable',
    `no usable answer from ${origin}: ${reason}; start it with \`waybill up\` or \`waybill api\`, ` +
      'or name another one with --api or WAYBILL_API_URL',
    { cause },
  );
}

/** fetch says "fetch failed"; its cause says why. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0]);
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === 'TimeoutError' ? `nothing within ${TIMEOUT_MS / 1000} s` : cause.message;
}

function deliveryPath(deliveryId: string): string {
  return `/factory/deliveries/${encodeURIComponent(deliveryId)}`;
}
