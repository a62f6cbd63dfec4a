/** Raw header pairs as Node reports them: names in any case, one pair per line received. */
export type HeaderPair = readonly [name: string, value: string];

export type HeaderRead =
  | { readonly found: 'none' }
  | { readonly found: 'several' }
  | { readonly found: 'one'; readonly text: string };

/**
 * The value of one header. The same line sent twice is one value; lines with different values are
 * `several`, and none of them is chosen.
 *
 * @param lowerName the header's name in lower case
 */
export function readHeader(headers: readonly HeaderPair[], lowerName: string): HeaderRead {
  let text: string | undefined;
  for (const [name, value] of headers) {
    if (name.length !== lowerName.length || name.toLowerCase() !== lowerName) continue;
    if (text !== undefined && text !== value) return { found: 'several' };
    text = value;
  }
  return text === undefined ? { found: 'none' } : { found: 'one', text };
}

/**
 * The bytes that a header or URL had on the wire. Node reads them as Latin-1, so that is the way
 * back; text that cannot have come from there (an offline check) is taken as UTF-8.
 */
export function wireBytes(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'latin1');
  return bytes.toString('latin1') === text ? bytes : Buffer.from(text, 'utf8');
}
