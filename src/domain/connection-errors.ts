/**
 * What an error of an HTTP call proves. "Nothing was sent" lets a call be made again without a second
 * effect, so only errors that rule out that a byte arrived count for it.
 */

/** `refused`, `unconnected`: no byte of the request was sent. `unproven`: it may have arrived. */
export interface ConnectionFault {
  readonly kind: 'refused' | 'unconnected' | 'unproven';
  /** The error's code, or that of its cause; empty where there is none. */
  readonly code: string;
}

const UNCONNECTED: readonly string[] = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_HAS_EXPIRED',
];

export function connectionFault(error: unknown): ConnectionFault {
  const code = errorCode(error);
  if (code === 'ECONNREFUSED') return { kind: 'refused', code };
  return { kind: UNCONNECTED.includes(code) ? 'unconnected' : 'unproven', code };
}

/** The code of an error or of its cause; several addresses tried at once give an AggregateError. */
function errorCode(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error instanceof AggregateError) return errorCode(error.errors[0]);
  return 'cause' in error ? errorCode(error.cause) : '';
}
