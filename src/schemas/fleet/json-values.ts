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
export function faultless<Schema extends z.ZodType>(
  schema: Schema,
  faultOf: (value: z.output<Schema>) => JsonFault | null,
): Schema {
  return schema.superRefine((value, context) => {
    const fault = faultOf(value);
    if (fault === null) return;
    context.addIssue({ code: 'custom', path: [...fault.path], message: fault.problem });
  });
}

/**
 * The first text of a document that Postgres cannot hold, whatever field it stands in. JSON within the
 * document has a depth of its own; what is deeper than that is refused there.
 */
export function textFault(document: unknown): JsonFault | null {
  const fault = jsonFault(document, [], MAX_DEPTH * 2);
  return fault === null || fault.path.length === 0 ? null : fault;
}

/** The first thing within a value that no JSON in Postgres can be. */
export function jsonFault(
  value: unknown,
  path: FieldPath = [],
  maxDepth = MAX_DEPTH,
): JsonFault | null {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return { path, problem: 'JSON has no such number' };
  }
  if (typeof value === 'string' && !isStorable(value)) {
    return { path, problem: 'must hold no NUL and no half of a surrogate pair' };
  }
  if (typeof value !== 'object' || value === null) return null;
  if (path.length >= maxDepth)
    return { path: [], problem: `must be at most ${maxDepth} groups deep` };
  for (const [key, inner] of Object.entries(value)) {
    // Readers of rows leave it out, for safety.
    if (key === '__proto__') return { path, problem: 'a name in it is __proto__' };
    if (!isStorable(key)) return { path, problem: 'a name in it holds NUL or half a character' };
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    const fault = jsonFault(inner, at, maxDepth);
    if (fault !== null) return fault;
  }
  return null;
}

function isStorable(text: string): boolean {
  return !/[\0\p{Cs}]/u.test(text);
}
