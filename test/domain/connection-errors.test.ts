/** What an error of an HTTP call proves about bytes that were sent. Real: the pure function. */
import { connectionFault } from '../../src/domain/connection-errors';

function systemError(code: string, syscall?: string): Error {
  return Object.assign(new Error(code), { code, ...(syscall === undefined ? {} : { syscall }) });
}

const refused = systemError('ECONNREFUSED', 'connect');
const unreachable = systemError('ENETUNREACH', 'connect');

test.each([
  ['ECONNREFUSED', 'refused'],
  ['EHOSTUNREACH', 'unconnected'],
  ['ENETUNREACH', 'unconnected'],
])('%s of connect proves that nothing was sent', (code, kind) => {
  expect(connectionFault(systemError(code, 'connect'))).toEqual({ kind, code });
});

test.each(
  ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'].flatMap((code) =>
    ['read', 'write', undefined].map((syscall) => [code, syscall] as const),
  ),
)('%s of %s proves nothing: the connection was there', (code, syscall) => {
  expect(connectionFault(systemError(code, syscall))).toEqual({ kind: 'unproven', code });
});

test.each([
  ...['ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'],
  ...['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_REVOKED', 'INVALID_CA'],
])('%s comes before the first byte, whatever was called', (code) => {
  expect(connectionFault(systemError(code))).toEqual({ kind: 'unconnected', code });
});

test.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET'])('%s proves nothing', (code) => {
  expect(connectionFault(systemError(code, 'connect')).kind).toBe('unproven');
});

test('a cause counts like the error itself', () => {
  const failed = new TypeError('fetch failed', { cause: refused });
  expect(connectionFault(failed)).toEqual({ kind: 'refused', code: 'ECONNREFUSED' });
});

test('of several addresses all must prove it', () => {
  const tried = (...errors: readonly Error[]) => connectionFault(new AggregateError(errors));
  expect(tried(refused, refused).kind).toBe('refused');
  expect(tried(unreachable, refused)).toEqual({ kind: 'unconnected', code: 'ENETUNREACH' });
  const unproven = { kind: 'unproven', code: 'ETIMEDOUT' };
  expect(tried(refused, systemError('ETIMEDOUT', 'connect'))).toEqual(unproven);
  expect(tried(systemError('ETIMEDOUT', 'connect'), refused)).toEqual(unproven);
  expect(tried(refused, new Error('gone')).kind).toBe('unproven');
  // As Node throws it: with the code of the first one, and as the cause of another.
  const named = Object.assign(
    new AggregateError([refused, systemError('ECONNRESET', 'read')]),
    refused,
  );
  expect(connectionFault(new TypeError('fetch failed', { cause: named })).kind).toBe('unproven');
});

test.each([undefined, null, 'gone', {}, new Error('gone'), new AggregateError([])])(
  'what has no code proves nothing: %p',
  (error) => {
    expect(connectionFault(error)).toEqual({ kind: 'unproven', code: '' });
  },
);
