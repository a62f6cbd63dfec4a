/** Reads the signature field of a request: which signatures it lists, and its other pairs. */
import type { Unverified } from '../../domain/verification';
import type { SignatureField } from '../../schemas/webhook-schemes';
import { decodeSignature } from './encodings';
import { refuse } from './refusals';

/**
 * More entries than this in one signature header are refused unread, which bounds the work of a
 * request. Vendors list two or three while a secret is rotated.
 */
export const maxSignatures = 100;

export interface SignatureList {
  readonly ok: true;
  readonly signatures: readonly Uint8Array[];
  /** All pairs of the format `pairs`, in order; empty for the other formats. */
  readonly pairs: readonly (readonly [key: string, value: string])[];
}

export function readSignatures(field: SignatureField, text: string): SignatureList | Unverified {
  if (text === '') return refuse('empty_signature', `header ${field.name} is empty`);
  switch (field.format) {
    case 'raw':
      return decodeAll(field, [text], []);
    case 'prefix':
      if (!text.startsWith(field.prefix)) {
        return refuse('malformed_signature', `${field.name} does not start with ${field.prefix}`);
      }
      return decodeAll(field, [text.slice(field.prefix.length)], []);
    case 'pairs':
      return readPairs(field, text);
  }
}

function readPairs(
  field: SignatureField & { format: 'pairs' },
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
  return decodeAll(field, values, pairs);
}

function readPair(item: string, eq: string): [string, string][] {
  const at = item.indexOf(eq);
  return at < 0 ? [] : [[item.slice(0, at), item.slice(at + eq.length)]];
}

/** One readable signature is enough: of several, those that are malformed cannot match anyway. */
function decodeAll(
  field: SignatureField,
  values: readonly string[],
  pairs: SignatureList['pairs'],
): SignatureList | Unverified {
  const signatures = values
    .map((value) => decodeSignature(field.encoding, value))
    .filter((signature) => signature !== null);
  if (signatures.length > 0) return { ok: true, signatures, pairs };
  return refuse('malformed_signature', `${field.name} is not in the encoding ${field.encoding}`);
}
