/** Reading a verified body: as text, and as JSON whose numbers keep every digit. */
import { isLosslessNumber, parse } from 'lossless-json';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as UTF-8 text, without one leading byte order mark; null where the bytes are not UTF-8.
 * The stored artifact is always the bytes.
 */
export function payloadText(body: Uint8Array): string | null {
  try {
    return utf8.decode(body);
  } catch {
    return null;
  }
}

/**
 * The body as JSON, undefined where it is none (also where it nests too deeply to be read). Numbers
 * stay text, as `JSON.parse` would round ids above 2^53. Of a repeated key the last value counts, as
 * with `JSON.parse`.
 */
export function payloadJson(body: Uint8Array): unknown {
  const text = payloadText(body);
  if (text === null) return undefined;
  try {
    return parse(text, null, { onDuplicateKey: ({ newValue }) => newValue });
  } catch {
    return undefined;
  }
}

/**
 * The scalar at a path such as `data.items.0.id` as text, numbers as written; null where it is
 * absent, null, an object or an array.
 */
export function textAt(json: unknown, path: string): string | null {
  let value = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  if (isLosslessNumber(value)) return value.value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : null;
}
