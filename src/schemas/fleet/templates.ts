/** JSON in which some objects stand for a value that is taken from elsewhere. */
import { z } from 'zod';
import { JsonPointer } from '../targets';
import type { JsonFault } from './json-values';
import { faultless, jsonFault } from './json-values';
import type { FieldPath } from './mistakes';

/** @param takers fields that alone in a group are a pointer, whatever its value: `from`, `config` */
export function template(takers: readonly string[]) {
  return faultless(
    z.unknown(),
    (written) => jsonFault(written) ?? templateFault(written, [], takers),
  );
}

function templateFault(
  written: unknown,
  path: FieldPath,
  takers: readonly string[],
): JsonFault | null {
  if (typeof written !== 'object' || written === null) return null;
  const fields: [string, unknown][] = Object.entries(written);
  const taker = fields[0]?.[0] ?? '';
  if (!Array.isArray(written) && fields.length === 1 && takers.includes(taker)) {
    const problem = 'write a JSON pointer such as /issue/title';
    const given = fields[0]?.[1];
    return JsonPointer.safeParse(given).success ? null : { path: [...path, taker], problem };
  }
  for (const [key, inner] of fields) {
    const at = [...path, Array.isArray(written) ? Number(key) : key];
    const fault = templateFault(inner, at, takers);
    if (fault !== null) return fault;
  }
  return null;
}
