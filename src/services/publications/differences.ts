/** Which fields differ between two things, for people to read. */
import { canonicalJson } from '../../schemas/canonical-json';

export interface FieldChange {
  /** Dotted path, e.g. `http.timeoutMs`. */
  readonly field: string;
  /** Null when the field was not there. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Compares field by field; groups are gone into, lists are compared as a whole. */
export function differences(before: object | null, after: object): FieldChange[] {
  const old = new Map(before === null ? [] : leaves(before, ''));
  const young = new Map(leaves(after, ''));
  return [...new Set([...young.keys(), ...old.keys()])]
    .map((field) => ({
      field,
      before: old.get(field) ?? null,
      after: young.get(field) ?? null,
    }))
    .filter((change) => canonicalJson(change.before) !== canonicalJson(change.after));
}

function leaves(group: object, prefix: string): [string, unknown][] {
  return Object.entries(group).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    const field = prefix === '' ? name : `${prefix}.${name}`;
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isGroup ? leaves(value, field) : [[field, value]];
  });
}
