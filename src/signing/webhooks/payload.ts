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

export interface JsonBody {
  /** Undefined where the body is no JSON, also where it nests too deeply to be read. */
  readonly value: unknown;
  /** Whether an object names a key twice. The last value counts, as with `JSON.parse`. */
  readonly repeatsKeys: boolean;
}

/** The body as JSON. Numbers stay text, as `JSON.parse` would round ids above 2^53. */
export function readJson(body: Uint8Array): JsonBody {
  const text = payloadText(body);
  // What cannot be JSON is not parsed: forms and empty bodies are common, exceptions are slow.
  if (text === null || !/^[\s]*[[{"\d\-tfn]/.test(text))
    return { value: undefined, repeatsKeys: false };
  let repeatsKeys = false;
  const onDuplicateKey = ({ newValue }: { newValue: unknown }): unknown => {
    repeatsKeys = true;
    return newValue;
  };
  try {
    return { value: parse(text, null, { onDuplicateKey }), repeatsKeys };
  } catch {
    return { value: undefined, repeatsKeys: false };
  }
}

/** What is at a path such as `data.items.0.id`, or undefined. Names of prototypes find nothing. */
export function valueAt(json: unknown, path: string): unknown {
  let value = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[key];
  }
  return value;
}

/**
 * The scalar at a path such as `data.items.0.id` as text, numbers as written; null where it is
 * absent, null, an object or an array.
 */
export function textAt(json: unknown, path: string): string | null {
  return scalarText(valueAt(json, path));
}

/** A value of `readJson` as text, numbers as written; null where it is no scalar. */
export function scalarText(value: unknown): string | null {
  if (isLosslessNumber(value)) return value.value;
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : null;
}
