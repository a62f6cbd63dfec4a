/** SQLSTATEs that the data layer reacts to; the only file that knows them. */
import { WaybillError } from '../domain/errors';

const RETRIED = ['40001', '40P01'];

/**
 * Classes and codes that mean "Postgres cannot serve now": connection, resources, shutdown, time-outs,
 * a server that is read-only after a failover, its disk.
 */
const UNAVAILABLE = [/^08/, /^53/, /^57P/, /^57014$/, /^55P03$/, /^25P03$/, /^25006$/, /^58/];

/** Errors of the socket or the pool, which carry no SQLSTATE. */
const CONNECTION_ERRORS = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ECONNABORTED',
  'EAI_AGAIN',
];

/** A transaction that lost against another one and may be run again from its start. */
export function isRetriedConflict(error: unknown): boolean {
  return RETRIED.includes(codeOf(error));
}

/** A migration's or statement's object that is not there: the schema is not ours or too old. */
export function isMissingObject(error: unknown): boolean {
  return ['42P01', '3F000', '42883'].includes(codeOf(error));
}

/** The role may not do this, or may not become the role that it should. */
export function isPermissionDenied(error: unknown): boolean {
  return codeOf(error) === '42501';
}

/** The statement failed for want of a server: nothing is known to be wrong with the request. */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  if (CONNECTION_ERRORS.includes(code) || UNAVAILABLE.some((pattern) => pattern.test(code))) {
    return true;
  }
  return (
    error instanceof Error &&
    code === '' &&
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered/.test(
      error.message,
    )
  );
}

/**
 * Turns "Postgres cannot serve now" into its catalogue error, also for a conflict that was tried
 * often enough, and leaves everything else as it is.
 */
export function asDomainError(error: unknown): unknown {
  if (isRetriedConflict(error)) {
    const detail = 'the transaction kept losing against others; nothing was stored';
    return new WaybillError('storage_unavailable', detail, { cause: error });
  }
  if (!isUnavailable(error)) return error;
  return new WaybillError('storage_unavailable', '', { cause: error });
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
