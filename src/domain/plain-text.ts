/** Text that people give for the record: bounded, and of characters that every row can hold. */

/** Control characters, and half of a surrogate pair, which no row can hold. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}]/u;

export const MAX_PERSON = 255;
export const MAX_REASON = 500;

/** The same text without what no row can hold: NUL, and half of a surrogate pair. */
export function storableText(text: string): string {
  return text.replace(/[\0\p{Cs}]/gu, '\uFFFD');
}

/**
 * A text of somebody else's making as one printed line of at most `limit` characters: what moves a
 * cursor or turns the direction of writing becomes a blank.
 */
export function printedLine(text: string, limit: number): string {
  return storableText(text.slice(0, limit).replace(MOVING, ' '));
}

const MOVING = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** What is wrong with a field of an input; null: nothing. */
export function textProblem(field: string, value: unknown, limit: number): string | null {
  if (typeof value !== 'string' || value.trim() === '') return `\`${field}\` is not a text`;
  if (value.length > limit) return `\`${field}\` is longer than ${limit} characters`;
  return UNPRINTABLE.test(value) ? `\`${field}\` holds a control character` : null;
}

/** The fields of an input object; null where it is none. An absent input has no fields. */
export function fieldsOf(input: unknown): Readonly<Record<string, unknown>> | null {
  const given = input ?? {};
  return typeof given === 'object' && !Array.isArray(given)
    ? (given as Readonly<Record<string, unknown>>)
    : null;
}
