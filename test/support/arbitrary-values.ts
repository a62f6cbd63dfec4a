/** Texts, numbers and JSON of which YAML and Postgres could make something else, for property tests. */
import * as fc from 'fast-check';

export type Draw = fc.GeneratorValue;
export type Document = Readonly<Record<string, unknown>>;

/** What YAML reads as something else unless it is quoted, and what it escapes. */
const TRICKY = [
  ...['', ' ', 'yes', 'null', '~', '1.0', '0x10', '1e3', '.inf', '<<', '- a', 'a: b', 'a #b', '#'],
  ...['"', "'", '\\', 'a\nb', '\n', 'a\n\n b\n', '\t', '\r', '\r\n', '...', '---', '--- a', '&a'],
  ...['*a', '!t', '|', '>', '%Y', '@a', '`', '{', ']', ',', '?', '? a', '\u0001', '\u007f'],
  ...['\u0085', '\u2028', '\u2029', '\ufeff', '\u{1f600}', 'é', '2026-01-31', 'true ', ' x'],
];
export const text = fc.oneof(
  fc.constantFrom(...TRICKY),
  fc.string({ unit: fc.constantFrom(...TRICKY), maxLength: 4 }),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
  fc.string({ minLength: 900, maxLength: 1100 }),
);
export const key = text.filter((name) => name !== '__proto__');
export const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    text,
    fc.array(tie('json'), { maxLength: 3 }),
    fc.dictionary(key, tie('json'), { maxKeys: 3 }),
  ),
}));
export const arbitraryJsonGroup = fc.dictionary(key, json, { maxKeys: 4 });
export const duration = fc
  .tuple(fc.integer({ min: 1, max: 59 }), fc.constantFrom('ms', 's', 'm'))
  .map(([count, unit]) => `${count}${unit}`);
export const secretRef = fc.oneof(
  fc.constant('env:SECRET'),
  // A slash could make it a folder, or lead out of the one of secrets.
  text.map((some) => `file:secrets/${some.slice(0, 900).replaceAll('/', '_')}.key`),
);
