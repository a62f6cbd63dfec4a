/** Which fields differ between two things, for people to read. */
import { canonicalJson } from '../../schemas/canonical-json';

export interface FieldChange {
  /** Dotted path, e.g. `http.timeoutMs`. */
  readonly field: string;
  /** Null when the field was not there. */
  readonly before: unknown;
  readonly after: unknown;
}

/**
 * Compares field by field; groups are gone into, lists are compared as a whole. Things that differ
 * always differ in a field.
 */
export function differences(before: object | null, after: object): FieldChange[] {
  const told = changes(before === null ? [] : leaves(before, ''), leaves(after, ''));
  if (told.length > 0 || before === null) return told;
  // Foreign JSON can differ where no leaf does: an empty group, or a dot in a name.
  return changes(Object.entries(before), Object.entries(after));
}

function changes(
  before: readonly [string, unknown][],
  after: readonly [string, unknown][],
): FieldChange[] {
  const old = new Map(before);
  const young = new Map(after);
  return [...new Set([...young.keys(), ...old.keys()])]
    .map((field) => ({
      field,
      before: old.get(field) ?? null,
      after: young.get(field) ?? null,
    }))
    .filter(
      ({ before: one, after: other }) =>
        one !== other && canonicalJson(one) !== canonicalJson(other),
    );
}

function leaves(group: object, prefix: string): [string, unknown][] {
  return Object.entries(group).flatMap(([name, value]: [string, unknown]): [string, unknown][] => {
    const field = prefix === '' ? name : `${prefix}.${name}`;
    const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isGroup ? leaves(value, field) : [[field, value]];
  });
}
