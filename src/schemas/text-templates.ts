/**
 * Texts with places to fill: `{payload/issue/id}` stands for the payload's value at the JSON pointer
 * `/issue/id`, `{config/region}` for that of the connection's configuration. A brace has no other use.
 */

export const TEXT_SOURCES = ['payload', 'config'] as const;
export type TextSource = (typeof TEXT_SOURCES)[number];

export interface TextPlace {
  readonly source: TextSource;
  /** A JSON pointer (RFC 6901). */
  readonly pointer: string;
}

export type TextPart = string | TextPlace;

const PLACE = /\{(payload|config)((?:\/(?:[^/~{}]|~[01])*)+)\}/g;

/** The parts of a template, in their order; null: a brace in it begins or ends no place. */
export function textParts(template: string): TextPart[] | null {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of template.matchAll(PLACE)) {
    const [whole, source, pointer = ''] = match;
    parts.push(template.slice(end, match.index), { source: source as TextSource, pointer });
    end = match.index + whole.length;
  }
  parts.push(template.slice(end));
  const kept = parts.filter((part) => part !== '');
  return kept.some((part) => typeof part === 'string' && /[{}]/.test(part)) ? null : kept;
}

/** As it is written. */
export function placeText({ source, pointer }: TextPlace): string {
  return `{${source}${pointer}}`;
}

/** A base address of the connection's own, or a scheme; then the authority, the path, the query. */
export interface UrlParts {
  /** Null: the address begins with its scheme. */
  readonly base: TextPlace | null;
  readonly authority: readonly TextPart[];
  readonly path: readonly TextPart[];
  /** Behind the question mark. */
  readonly query: readonly TextPart[];
}

/** A template of an http or https address, taken apart; a text: what is wrong with it. */
export function urlParts(template: string): UrlParts | string {
  const parts = textParts(template);
  if (parts === null) return 'write {payload/…} or {config/…} for what is to be filled in';
  if (/[\s\p{Cc}#\\]/u.test(template)) return 'must hold no blank, backslash or fragment';
  const [first] = parts;
  const base = typeof first === 'object' ? first : null;
  if (base?.source === 'payload') return 'where it goes must not depend on the payload';
  const [head, query] = splitAt(base === null ? parts : parts.slice(1), '?');
  const [authority, path] = splitAt(base === null ? withoutScheme(head) : head, '/');
  if (base !== null && authority.length > 0) return 'a base address is followed by / or ?';
  if (base === null && !/^https?:\/\//.test(typeof first === 'string' ? first : '')) {
    return 'write an http or https address, or begin with {config/…}';
  }
  if (base === null && authority.length === 0) return 'names no host';
  if (authority.some((part) => (typeof part === 'string' ? part.includes('@') : false))) {
    return 'must hold no user name or password';
  }
  if (authority.some((part) => typeof part === 'object' && part.source === 'payload')) {
    return 'where it goes must not depend on the payload';
  }
  const slash: TextPart[] = path === null ? [] : ['/', ...path];
  return { base, authority, path: slash, query: query ?? [] };
}

function withoutScheme([first, ...rest]: readonly TextPart[]): TextPart[] {
  const left = typeof first === 'string' ? first.replace(/^https?:\/\//, '') : '';
  return left === '' ? rest : [left, ...rest];
}

/** What is before the first such character of a literal part, and what is behind it; null: it is not there. */
function splitAt(
  parts: readonly TextPart[],
  mark: string,
): [before: TextPart[], behind: TextPart[] | null] {
  const index = parts.findIndex((part) => typeof part === 'string' && part.includes(mark));
  const found = parts[index];
  if (typeof found !== 'string') return [[...parts], null];
  const at = found.indexOf(mark);
  const some = (text: string): TextPart[] => (text === '' ? [] : [text]);
  return [
    [...parts.slice(0, index), ...some(found.slice(0, at))],
    [...some(found.slice(at + 1)), ...parts.slice(index + 1)],
  ];
}
