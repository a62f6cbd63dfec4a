/** Every error as an RFC 9457 problem with a code of the catalogue. Faults of ours say nothing more. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import { errorCatalogue, WaybillError, type ErrorCode } from '../domain/errors';
import type { Problem } from '../schemas/api-problems';

export const PROBLEM_TYPE = 'application/problem+json';

/** When a sender may try again that met a passing fault of ours. */
const RETRY_AFTER_S = 5;

type ProblemExtra = Pick<
  Problem,
  'state' | 'checks' | 'reason' | 'requestDigest' | 'mistakes' | 'mistakeCount'
>;

/** A failure whose answer needs more than its code, detail and field. */
export class HttpProblem extends WaybillError {
  readonly headers: Readonly<Record<string, string>>;
  readonly extra: ProblemExtra;

  constructor(
    code: ErrorCode,
    detail: string,
    more: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly extra?: ProblemExtra;
      readonly field?: string;
    },
  ) {
    super(code, detail, more.field === undefined ? {} : { field: more.field });
    this.headers = more.headers ?? {};
    this.extra = more.extra ?? {};
  }
}

/** Answers every error of every route; logs those that are ours. */
export function problemHandler(
  log: Logger,
): (error: unknown, request: FastifyRequest, reply: FastifyReply) => void {
  return (error, request, reply) => {
    const failure = asWaybillError(error);
    if (failure.status >= 500) {
      // A probe asks every few seconds while a process comes up: that is no failure to look into.
      const level = failure.code === 'not_ready' ? 'debug' : 'error';
      log[level](
        {
          requestId: request.id,
          code: failure.code,
          cause: describeError(failure.cause ?? failure),
        },
        'request failed',
      );
    }
    sendProblem(failure, request, reply);
  };
}

function sendProblem(failure: WaybillError, request: FastifyRequest, reply: FastifyReply): void {
  void reply
    .code(failure.status)
    .headers({ 'x-request-id': request.id, ...headersOf(failure) })
    .type(PROBLEM_TYPE)
    .send(JSON.stringify(problemOf(failure, request.id)));
}

/** The document itself. */
export function problemOf(failure: WaybillError, requestId: string): Problem {
  const { message, status } = errorCatalogue[failure.code];
  return {
    type: `urn:waybill:error:${failure.code}`,
    title: message,
    status,
    // What is wrong inside is for the log alone.
    detail: failure.code === 'internal' || failure.detail === '' ? message : failure.detail,
    code: failure.code,
    ...(failure.field === undefined ? {} : { field: failure.field }),
    requestId,
    ...(failure instanceof HttpProblem ? failure.extra : {}),
  };
}

function headersOf(failure: WaybillError): Record<string, string> {
  return {
    ...(failure.retryable ? { 'retry-after': String(RETRY_AFTER_S) } : {}),
    ...(failure.code === 'unauthenticated' ? { 'www-authenticate': challenge(failure) } : {}),
    ...(failure instanceof HttpProblem ? failure.headers : {}),
  };
}

function challenge(failure: WaybillError): string {
  // A request without any token is told what is wanted, not that something was wrong with it.
  return failure.detail === ''
    ? 'Bearer realm="waybill"'
    : 'Bearer realm="waybill", error="invalid_token"';
}

function asWaybillError(error: unknown): WaybillError {
  if (error instanceof WaybillError) return error;
  if (hasZodFastifySchemaValidationErrors(error)) return invalidInput(error.validation);
  switch (codeOf(error)) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new WaybillError('body_too_large', 'The body of an API request is too large.');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return invalid('The body must be application/json.', 'content-type');
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return invalid('The body is not JSON.', 'body');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new WaybillError('not_found', 'There is nothing at this path.');
    default:
      return new WaybillError('internal', '', { cause: error });
  }
}

interface InvalidInput {
  readonly keyword: string;
  readonly instancePath: string;
  readonly message?: string;
  readonly params: Readonly<Record<string, unknown>>;
}

function invalidInput([first]: readonly InvalidInput[]): WaybillError {
  const path = first?.instancePath.split('/').filter((part) => part !== '') ?? [];
  const keys = first?.keyword === 'unrecognized_keys' ? first.params['keys'] : undefined;
  if (Array.isArray(keys)) {
    const field = [...path, String(keys[0])].join('.');
    return invalid(`The field ${field} is not known here.`, field);
  }
  const field = path.length === 0 ? 'body' : path.join('.');
  return invalid(`${field}: ${first?.message ?? 'is wrong'}`, field);
}

function invalid(detail: string, field: string): WaybillError {
  return new WaybillError('invalid_request', detail, { field });
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** What the log may hold of an error: other properties can quote rows or requests. */
export function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  return { type: error.name, code: codeOf(error), message: error.message, stack: error.stack };
}
