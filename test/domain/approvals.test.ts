/** What people may send to an action that waits for an approval, before anybody looks at a signature. */
import {
  approvalProblem,
  denialProblem,
  readApproval,
  readDenial,
} from '../../src/domain/approvals';

test.each([
  ['nothing', undefined],
  ['a text', 'a.b.c'],
  ['no token', { by: 'kate' }],
  ['two parts', { token: 'a.b' }],
  ['four parts', { token: 'a.b.c.d' }],
  ['blanks', { token: 'a.b.c ' }],
  ['a book', { token: `${'a'.repeat(4_096)}.b.c` }],
])('an approval of %s is told from a token', (_what, input) => {
  expect(approvalProblem(input)).toContain('waybill approvals sign');
});

test('a token is read as it is', () => {
  const input = { token: 'eyJh.eyJp-_0.c2ln' };
  expect(approvalProblem(input)).toBeNull();
  expect(readApproval(input)).toBe(input.token);
});

test.each([
  ['a list', [], 'is not an object'],
  ['nobody', { reason: 'wrong' }, '`by`'],
  ['no reason', { by: 'kate', reason: ' ' }, '`reason`'],
  ['a long reason', { by: 'kate', reason: 'x'.repeat(501) }, 'longer than 500'],
  ['a control character', { by: 'ka\u0000te', reason: 'wrong' }, 'control character'],
])('a denial by %s names what is wrong', (_what, input, problem) => {
  expect(denialProblem(input)).toContain(problem);
});

test('a denial is read as it is', () => {
  const input = { by: 'kate', reason: 'wrong amount' };
  expect(denialProblem(input)).toBeNull();
  expect(readDenial(input)).toEqual(input);
});
