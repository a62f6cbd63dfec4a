/** What a delivery asks of an action: its request and its affinity, taken from the payload. */
import { isLosslessNumber } from 'lossless-json';
import { z } from 'zod';
import { valueAt } from '../domain/json-pointer';
import type { ActionTarget } from '../schemas/targets';
import { FromPayload, JsonPointer } from '../schemas/targets';

/** `missing`: the payload has nothing, or nothing fit, at the place that the target names. */
export type BuiltRequest =
  /** A number that JavaScript cannot hold exactly is a `LosslessNumber` in it. */
  | { readonly kind: 'built'; readonly request: unknown }
  | { readonly kind: 'missing'; readonly pointer: string };

export type BuiltAffinity =
  | { readonly kind: 'built'; readonly key: string | null }
  | { readonly kind: 'missing'; readonly pointer: string };

/**
 * The request of one delivery: every object of the template that is exactly `{from: pointer}` is
 * replaced by the payload's value at that JSON pointer (RFC 6901). Without a template (null) it is the
 * payload itself. Nothing that is given is changed.
 * @param payload the delivery's body, parsed as JSON
 * @param config what objects that are exactly `{config: pointer}` are replaced from; undefined: there is
 *   none, and such an object means itself
 */
export function buildRequest(
  template: ActionTarget['request'],
  payload: unknown,
  config?: unknown,
): BuiltRequest {
  if (template === null) return { kind: 'built', request: payload };
  try {
    return { kind: 'built', request: filled(template, { payload, config }) };
  } catch (error) {
    if (error instanceof Missing) return { kind: 'missing', pointer: error.pointer };
    throw error;
  }
}

/**
 * The first number of a built request that JavaScript cannot hold exactly, as it was written; null: there
 * is none. What checks and carries out actions would take it for another one.
 */
export function inexactIn(request: unknown): string | null {
  if (isLosslessNumber(request)) return request.value;
  if (typeof request !== 'object' || request === null) return null;
  for (const inner of Object.values(request)) {
    const found = inexactIn(inner);
    if (found !== null) return found;
  }
  return null;
}

/** Most characters of a key. */
const MAX_KEY = 200;

/** The key that keeps a conversation on one account: a number or short text of the payload. */
export function buildAffinity(affinity: FromPayload | null, payload: unknown): BuiltAffinity {
  if (affinity === null) return { kind: 'built', key: null };
  const value = valueAt(payload, affinity.from);
  const scalar = isLosslessNumber(value) ? value.value : value;
  const key = typeof scalar === 'string' || typeof scalar === 'number' ? String(scalar) : '';
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

interface Sources {
  readonly payload: unknown;
  readonly config: unknown;
}

const FromConfig = z.strictObject({ config: JsonPointer });

function filled(template: unknown, sources: Sources): unknown {
  if (typeof template !== 'object' || template === null) return template;
  if (Array.isArray(template)) return template.map((inner: unknown) => filled(inner, sources));
  const taken = FromPayload.safeParse(template);
  if (taken.success) return found(sources.payload, taken.data.from);
  const configured = sources.config === undefined ? null : FromConfig.safeParse(template);
  if (configured?.success === true) return found(sources.config, configured.data.config);
  const fields: [string, unknown][] = Object.entries(template);
  return Object.fromEntries(fields.map(([name, inner]) => [name, filled(inner, sources)]));
}

function found(source: unknown, pointer: string): unknown {
  const value = valueAt(source, pointer);
  if (value === undefined) throw new Missing(pointer);
  return value;
}
