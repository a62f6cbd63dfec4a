/** Text of others: what is refused of it, and what of it no row can hold. Real: the pure functions. */
import { fieldsOf, storableText, textProblem } from '../../src/domain/plain-text';

const HIGH = '\ud83d';
const LOW = '\ude42';

test.each([
  ['NUL', 'no \0 such', 'no \ufffd such'],
  ['the first half of a pair', `cut ${HIGH}`, 'cut \ufffd'],
  ['the second half of a pair', `${LOW} cut`, '\ufffd cut'],
  ['halves in the wrong order', LOW + HIGH, '\ufffd\ufffd'],
])('%s is stored as a replacement character', (_what, text, stored) => {
  expect(storableText(text)).toBe(stored);
});

test('whatever a row can hold is stored as it is, line breaks and whole pairs, too', () => {
  const text = `line\n\ttab ${HIGH}${LOW} ü \u0001`;
  expect(storableText(text)).toBe(text);
});

test.each([
  ['no text', 7, /not a text/],
  ['a blank', '  ', /not a text/],
  ['more than fits', 'xxxx', /longer than 3 characters/],
  ['NUL', 'a\0', /control character/],
  ['half of a pair', HIGH, /control character/],
])('a field with %s is refused by its name', (_what, value, said) => {
  const problem = textProblem('reason', value, 3);
  expect(problem).toMatch(said);
  expect(problem).toContain('`reason`');
});

test('a field with a whole pair is good', () => {
  expect(textProblem('reason', `ok${HIGH}${LOW}`, 10)).toBeNull();
});

test('an absent input has no fields, and what is no object has none to read', () => {
  expect(fieldsOf(undefined)).toEqual({});
  expect(fieldsOf({ by: 'ada' })).toEqual({ by: 'ada' });
  for (const input of ['text', 7, ['by']]) expect(fieldsOf(input)).toBeNull();
});
