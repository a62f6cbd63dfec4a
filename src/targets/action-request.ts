/** What a delivery asks of an action: its request and its affinity, taken from the payload. */
import { pointerSteps } from '../domain/json-pointer';
import type { ActionTarget } from '../schemas/targets';
import { FromPayload } from '../schemas/targets';

/** `missing`: the payload has nothing, or nothing fit, at the place that the target names. */
export type BuiltRequest =
  | { readonly kind: 'built'; readonly request: unknown }
  | { readonly kind: 'missing'; readonly pointer: string };

export type BuiltAffinity =
  | { readonly kind: 'built'; readonly key: string | null }
  | { readonly kind: 'missing'; readonly pointer: string };

/**
 * The request of one delivery: every object of the template that is exactly `{from: pointer}` is
 * replaced by the payload's value at that JSON pointer (RFC 6901). Without a template (null) it is the
 * payload itself. Neither of the two is changed.
 * @param payload the delivery's body, parsed as JSON
 */
export function buildRequest(template: ActionTarget['request'], payload: unknown): BuiltRequest {
  if (template === null) return { kind: 'built', request: payload };
  try {
    return { kind: 'built', request: filled(template, payload) };
  } catch (error) {
    if (error instanceof Missing) return { kind: 'missing', pointer: error.pointer };
    throw error;
  }
}

/** Most characters of a key. */
const MAX_KEY = 200;

/** The key that keeps a conversation on one account: a number or short text of the payload. */
export function buildAffinity(affinity: FromPayload | null, payload: unknown): BuiltAffinity {
  if (affinity === null) return { kind: 'built', key: null };
  const value = valueAt(payload, affinity.from);
  const key = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  // Postgres text holds no NUL.
  const fits = key !== '' && key.length <= MAX_KEY && !key.includes('\0');
  return fits ? { kind: 'built', key } : { kind: 'missing', pointer: affinity.from };
}

/** Ends the filling at the first place that the payload does not have. */
class Missing extends Error {
  readonly pointer: string;

  constructor(pointer: string) {
    super(`the payload has nothing at ${pointer}`);
    this.pointer = pointer;
  }
}

function filled(template: unknown, payload: unknown): unknown {
  if (typeof template !== 'object' || template === null) return template;
  if (Array.isArray(template)) return template.map((inner: unknown) => filled(inner, payload));
  const taken = FromPayload.safeParse(template);
  if (taken.success) {
    const value = valueAt(payload, taken.data.from);
    if (value === undefined) throw new Missing(taken.data.from);
    return value;
  }
  const fields: [string, unknown][] = Object.entries(template);
  return Object.fromEntries(fields.map(([name, inner]) => [name, filled(inner, payload)]));
}

/** The value at a JSON pointer; undefined, which JSON does not know, where there is none. */
function valueAt(payload: unknown, pointer: string): unknown {
  let value = payload;
  for (const key of pointerSteps(pointer)) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    if (!Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
