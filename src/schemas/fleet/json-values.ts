/** JSON within a fleet file: YAML can say more than JSON and Postgres can hold. */
import type { z } from 'zod';
import type { FieldPath } from './mistakes';

export interface JsonFault {
  readonly path: FieldPath;
  readonly problem: string;
}

/** Deeper ones are refused; an alias within its own anchor has no end at all. */
const MAX_DEPTH = 64;

/** A value in which `faultOf` finds nothing. */
export function faultless<Value>(
  schema: z.ZodType<Value>,
  faultOf: (value: Value) => JsonFault | null,
) {
  return schema.superRefine((value, context) => {
    const fault = faultOf(value);
    if (fault === null) return;
    context.addIssue({ code: 'custom', path: [...fault.path], message: fault.problem });
  });
}

/** The first thing within a value that no JSON in Postgres can be. */
export function jsonFault(value: unknown, path: FieldPath = []): JsonFault | null {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { path, problem: 'JSON has no such number' };
  }
  if (typeof value === 'string' && !isStorable(value)) {
    return { path, problem: 'must hold no NUL and no half of a surrogate pair' };
  }
  if (typeof value !== 'object' || value === null) return null;
  if (path.length >= MAX_DEPTH)
    return { path: [], problem: `must be at most ${MAX_DEPTH} groups deep` };
  for (const [key, inner] of Object.entries(value)) {
    // Readers of rows leave it out, for safety.
    if (key === '__proto__') return { path, problem: 'a name in it is __proto__' };
    if (!isStorable(key)) return { path, problem: 'a name in it holds NUL or half a character' };
    const fault = jsonFault(inner, [...path, Array.isArray(value) ? Number(key) : key]);
    if (fault !== null) return fault;
  }
  return null;
}

function isStorable(text: string): boolean {
  return !/[\0\p{Cs}]/u.test(text);
}
