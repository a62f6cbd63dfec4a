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

/** Whatever the system call was. */
const UNCONNECTED: readonly string[] = [
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_INVALID_ARG',
  // What is wrong with a certificate is found before the connection counts as one.
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN'],
  ...['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'UNABLE_TO_GET_ISSUER_CERT', 'CERT_HAS_EXPIRED'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_NOT_YET_VALID', 'CERT_REVOKED', 'CERT_REJECTED'],
  ...['CERT_UNTRUSTED', 'CERT_SIGNATURE_FAILURE', 'CERT_CHAIN_TOO_LONG', 'INVALID_CA'],
  ...['INVALID_PURPOSE', 'PATH_LENGTH_EXCEEDED', 'HOSTNAME_MISMATCH'],
];
/** Of `connect` alone: an established connection can end with them, too. */
const OF_CONNECT: readonly string[] = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'];

export function connectionFault(error: unknown): ConnectionFault {
  const faults = causesOf(error).map(faultOf);
  // Several addresses were tried: all of them must prove it.
  const [worst] = faults.filter(({ kind }) => kind === 'unproven');
  return worst ?? faults[0] ?? { kind: 'unproven', code: '' };
}

interface SystemError {
  readonly code: string;
  readonly syscall: unknown;
}

function faultOf({ code, syscall }: SystemError): ConnectionFault {
  if (OF_CONNECT.includes(code)) {
    if (syscall !== 'connect') return { kind: 'unproven', code };
    return { kind: code === 'ECONNREFUSED' ? 'refused' : 'unconnected', code };
  }
  return { kind: UNCONNECTED.includes(code) ? 'unconnected' : 'unproven', code };
}

/** Proves nothing. */
const UNREADABLE: SystemError = { code: '', syscall: null };

/** What lies behind an error: itself, its cause, or one for each address that was tried. */
function causesOf(error: unknown): readonly SystemError[] {
  if (error instanceof AggregateError) return error.errors.flatMap(causesOf);
  if (typeof error !== 'object' || error === null) return [UNREADABLE];
  if ('code' in error && typeof error.code === 'string') {
    return [{ code: error.code, syscall: 'syscall' in error ? error.syscall : null }];
  }
  return 'cause' in error ? causesOf(error.cause) : [UNREADABLE];
}
