/** Asking the API: its answers, its problems, and what it is when there is none. */
import type { z } from 'zod';
import { errorCatalogue, WaybillError, type ErrorCode } from '../../domain/errors';
import { Problem } from '../../schemas/api-problems';
import type { WaybillClient } from '../../client';

const NOT_WAYBILL = 'its answer is not that of a Waybill API';

/** How a call is made, whatever it asks for. */
export interface CallHow {
  readonly signal: AbortSignal;
}

export interface CallAnswer {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response: Response;
}

/** A call by the typed client. */
export type ApiCall = (api: WaybillClient, how: CallHow) => Promise<CallAnswer>;

/** Makes a call and reads its answer by a schema of the API. */
export type Ask = <Answer extends z.ZodType>(
  schema: Answer,
  call: ApiCall,
) => Promise<z.output<Answer>>;

/**
 * What a call answers, if that is what an API of Waybill would.
 * @param base the API's address
 * @throws WaybillError with the code of the API's problem, or `api_unreachable` when there is no
 *   answer, or none that an API of Waybill would give
 */
export async function answered<Answer extends z.ZodType>(
  schema: Answer,
  base: string,
  asked: { readonly timeoutMs: number; readonly call: (how: CallHow) => Promise<CallAnswer> },
): Promise<z.output<Answer>> {
  const { timeoutMs, call } = asked;
  const { data, error, response } = await call({ signal: AbortSignal.timeout(timeoutMs) }).catch(
    (failure: unknown) => {
      if (failure instanceof SyntaxError) throw unreachable(base, NOT_WAYBILL);
      throw unreachable(base, reasonOf(failure, timeoutMs), failure);
    },
  );
  if (!response.ok) throw problem(base, response.status, error);
  const answer = schema.safeParse(data);
  if (answer.success) return answer.data;
  throw unreachable(base, NOT_WAYBILL);
}

/**
 * An answer that comes in parts, for as long as it takes.
 * @throws WaybillError as `ask`, also where the answer ends before its end
 */
export async function* stream(url: string, request: RequestInit): AsyncGenerator<Uint8Array> {
  const response = await fetch(url, { ...request, redirect: 'error' }).catch((error: unknown) => {
    throw unreachable(url, reasonOf(error, 0), error);
  });
  if (!response.ok) throw problem(url, response.status, await response.json().catch(() => null));
  if (response.body === null) return;
  try {
    for await (const part of response.body) yield part;
  } catch (error) {
    throw unreachable(url, `the answer broke off: ${reasonOf(error, 0)}`, error);
  }
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
function reasonOf(error: unknown, timeoutMs: number): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0], timeoutMs);
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === 'TimeoutError' ? `nothing within ${timeoutMs / 1000} s` : cause.message;
}
