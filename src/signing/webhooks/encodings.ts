import { createHash } from 'node:crypto';
import type { KeyEncoding, SignatureEncoding } from '../../schemas/webhook-schemes/fields';

/**
 * Decodes signature text, strictly: hex is lower case and even, Base64 is canonical (encoding the
 * bytes again gives the same text), so that a signature has exactly one spelling. Null where the
 * text is not of that form, or empty.
 */
export function decodeSignature(encoding: SignatureEncoding, text: string): Uint8Array | null {
  const bytes = Buffer.from(text, encoding);
  return bytes.length > 0 && bytes.toString(encoding) === text ? bytes : null;
}

/** The key bytes of a secret's text, or null where it is empty or not of the scheme's encoding. */
export function decodeKey(encoding: KeyEncoding, secret: string): Uint8Array | null {
  switch (encoding) {
    case 'utf8':
      return secret === '' ? null : Buffer.from(secret, 'utf8');
    case 'hex':
      // Vendors print hex keys in either case; only signatures need one spelling.
      return decodeSignature('hex', secret.toLowerCase());
    case 'base64':
      return decodeSignature('base64', secret);
    case 'whsec':
      return decodeSignature('base64', secret.replace(/^whsec_/, ''));
    case 'whpk':
      return decodeSignature('base64', secret.replace(/^whpk_/, ''));
    case 'sha1-of-utf8':
      return secret === '' ? null : createHash('sha1').update(secret, 'utf8').digest();
  }
}
