/**
 * Signing at once what every delivery needs signed. jose signs in another thread, through WebCrypto: for
 * so small a text the hand-over and its promises take as much processor time as the signature. Whatever is
 * signed seldom, and all that is verified, is jose's.
 */
import { signatureAlgorithm, type SigningKey } from './keys';

/** A compact JWS (RFC 7515) over the payload as JSON, with `kid` and `typ`. */
export function signCompact(payload: object, typ: string, key: SigningKey): string {
  const header = { alg: signatureAlgorithm, kid: key.kid, typ };
  const signed = `${encoded(header)}.${encoded(payload)}`;
  const signature = key.signature(Buffer.from(signed, 'ascii'));
  return `${signed}.${signature.toString('base64url')}`;
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part), 'utf8').toString('base64url');
}
