/** Reads the signature field of a request: which signatures it lists, and its other pairs. */
import type { Unverified } from '../../domain/verification';
import type { WebhookScheme } from '../../schemas/webhook-schemes';
import type { AnySignatureField } from '../../schemas/webhook-schemes/fields';
import { decodeSignature } from './encodings';
import { wireBytes, type HeaderRead } from './headers';
import { refuse } from './refusals';
import { readField, type Fields, type RequestView } from './view';

/**
 * More entries than this in one signature field are refused unread, which bounds the work of a
 * request. Vendors list two or three while a secret is rotated.
 */
export const maxSignatures = 100;

/** Of signatures that a public key must verify: each costs a hundred times what a comparison does. */
export const maxPublicKeySignatures = 10;

export interface SignatureList {
  readonly ok: true;
  readonly signatures: readonly Uint8Array[];
  /** All pairs of the format `pairs`, in order; empty for the other formats. */
  readonly pairs: Fields;
}

/** How the signatures of a scheme are found and decoded. */
export interface SignatureReader {
  readonly field: AnySignatureField;
  readonly most: number;
  /** Null where the text is not of the form that the scheme's signatures have. */
  readonly decode: (text: string) => Uint8Array | null;
}

export function signatureReader(scheme: WebhookScheme): SignatureReader {
  const field = scheme.signature;
  switch (scheme.kind) {
    case 'hmac':
    case 'digest':
      return encoded(scheme.signature, maxSignatures);
    case 'ed25519':
    case 'ed25519-seed-from-secret':
    case 'ecdsa-p256':
    case 'rsa-pkcs1':
      return encoded(scheme.signature, maxPublicKeySignatures);
    case 'jwt':
      return { field, most: maxPublicKeySignatures, decode: decodeCompact };
    case 'shared-token': {
      const fromWire = field.location === 'header';
      const bytes = (text: string) => (fromWire ? wireBytes(text) : Buffer.from(text, 'utf8'));
      return { field, most: maxSignatures, decode: (text) => (text === '' ? null : bytes(text)) };
    }
    case 'basic-auth':
      return { field, most: 1, decode: field.format === 'prefix' ? decodeBase64 : decodeBasic };
  }
}

function encoded(
  field: AnySignatureField & { encoding?: 'hex' | 'base64' | 'base64url' | undefined },
  most: number,
): SignatureReader {
  const { encoding = 'hex' } = field;
  return { field, most, decode: (text) => decodeSignature(encoding, text) };
}

function decodeBase64(text: string): Uint8Array | null {
  return decodeSignature('base64', text);
}

/** The scheme's name in any case, as RFC 7235 has it. */
function decodeBasic(text: string): Uint8Array | null {
  const [, credentials] = /^basic +([^ ]+)$/i.exec(text) ?? [];
  return credentials === undefined ? null : decodeBase64(credentials);
}

/** Three parts of canonical base64url; who signed them is judged elsewhere. */
function decodeCompact(text: string): Uint8Array | null {
  const parts = text.split('.', 4);
  const good = parts.length === 3 && parts.every((part) => decodeSignature('base64url', part));
  return good ? Buffer.from(text, 'latin1') : null;
}

/** The signatures of a request, wherever its scheme says they are. */
export function signaturesOf(
  reader: SignatureReader,
  view: RequestView,
): SignatureList | Unverified {
  const { field } = reader;
  const read = readPlace(field, view);
  switch (read.found) {
    case 'none':
      return refuse('missing_signature', `${field.location} ${field.name} is missing`);
    case 'several':
      return refuse('repeated_signature', `${field.location} ${field.name} has several values`);
    case 'one':
      return readSignatures(reader, read.text);
  }
}

/** The text of the field that a scheme's signature stands in, as it is. */
export function readPlace({ location, name }: AnySignatureField, view: RequestView): HeaderRead {
  switch (location) {
    case 'header':
      return view.header(name);
    case 'query':
      return readField(view.query, name);
    case 'param':
      return readField(view.form ?? [], name);
    case 'body': {
      const text = view.text(name);
      return text === null ? { found: 'none' } : { found: 'one', text };
    }
    case 'response':
      return { found: 'none' };
  }
}

export function readSignatures(reader: SignatureReader, text: string): SignatureList | Unverified {
  const { field } = reader;
  if (text === '') return refuse('empty_signature', `${field.location} ${field.name} is empty`);
  switch (field.format) {
    case 'raw':
      return decodeAll(reader, [text], []);
    case 'prefix':
      if (!text.startsWith(field.prefix)) {
        return refuse('malformed_signature', `${field.name} does not start with ${field.prefix}`);
      }
      return decodeAll(reader, [text.slice(field.prefix.length)], []);
    case 'pairs':
      return readPairs(reader, field, text);
  }
}

function readPairs(
  reader: SignatureReader,
  field: AnySignatureField & { format: 'pairs' },
  text: string,
): SignatureList | Unverified {
  const items = text.split(field.sep, maxSignatures + 1);
  if (items.length > maxSignatures) {
    return refuse('too_many_signatures', `${field.name} has more than ${maxSignatures} entries`);
  }
  const pairs = items.flatMap((item) => readPair(item.trim(), field.eq));
  const values = pairs.filter(([key]) => field.sig_keys.includes(key)).map(([, value]) => value);
  if (values.length === 0) {
    const wanted = field.sig_keys.join(' or ');
    return refuse('malformed_signature', `${field.name} has no signature under ${wanted}`);
  }
  const different = [...new Set(values)];
  if (different.length > reader.most) {
    return refuse('too_many_signatures', `${field.name} has more than ${reader.most} signatures`);
  }
  return decodeAll(reader, different, pairs);
}

function readPair(item: string, eq: string): [string, string][] {
  const at = item.indexOf(eq);
  return at < 0 ? [] : [[item.slice(0, at), item.slice(at + eq.length)]];
}

/** One readable signature is enough: of several, those that are malformed cannot match anyway. */
function decodeAll(
  { field, decode }: SignatureReader,
  values: readonly string[],
  pairs: Fields,
): SignatureList | Unverified {
  const signatures = values.map(decode).filter((signature) => signature !== null);
  if (signatures.length > 0) return { ok: true, signatures, pairs };
  return refuse(
    'malformed_signature',
    `${field.name} is not written as a signature of this scheme`,
  );
}
