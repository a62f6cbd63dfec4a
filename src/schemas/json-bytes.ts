import { compareNumber, LosslessNumber, parse } from 'lossless-json';

/**
 * The value of a JSON text in strict UTF-8; undefined, which JSON does not know, where it is none. A number
 * that JavaScript would make another one of, as an id above 2^53, is a `LosslessNumber`.
 */
export function parsedJson(bytes: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (inexactNumber(text) === null) return JSON.parse(text);
    return parse(text, null, {
      parseNumber: (written) => (isExact(written) ? Number(written) : new LosslessNumber(written)),
      onDuplicateKey: ({ newValue }) => newValue,
    });
  } catch {
    return undefined;
  }
}

/** The value of a JSON text in UTF-8; null where it is none. */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return null;
  }
}

/** Fewer digits without an exponent are always kept. */
const LONG = /[\d.]{16}|\d[eE][+-]?\d/;
const STRINGS_AND_NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** The first number of a JSON text that JavaScript would make another one of; null: there is none. */
export function inexactNumber(text: string): string | null {
  if (!LONG.test(text)) return null;
  for (const [token] of text.matchAll(STRINGS_AND_NUMBERS)) {
    if (!token.startsWith('"') && LONG.test(token) && !isExact(token)) return token;
  }
  return null;
}

function isExact(written: string): boolean {
  const read = Number(written);
  return Number.isFinite(read) && compareNumber(written, String(read)) === 0;
}
