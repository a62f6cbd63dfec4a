/** What an operator may type into the signal `replay`. Real: all of it. */
import fc from 'fast-check';
import { checkReplaySignal } from '../../src/domain/replay-requests';

test('no input at all is a replay from the Temporal UI', () => {
  for (const input of [undefined, null, {}]) {
    expect(checkReplaySignal(input)).toMatchObject({ ok: true, replayedBy: 'temporal-ui' });
  }
});

test('who and why are taken as they are', () => {
  expect(checkReplaySignal({ by: 'grace', reason: 'repaired' })).toEqual({
    ok: true,
    replayedBy: 'grace',
    reason: 'repaired',
  });
});

test.each([
  ['a text', 'grace'],
  ['a list', ['grace']],
  ['a number as name', { by: 123 }],
  ['an empty name', { by: '  ' }],
  ['a NUL', { by: 'x\u0000y' }],
  ['half a surrogate pair', { reason: '\ud800' }],
  ['a name without end', { by: 'x'.repeat(256) }],
  ['a reason without end', { reason: 'x'.repeat(501) }],
])('%s is refused with what is wrong', (_what, input) => {
  expect(checkReplaySignal(input)).toMatchObject({
    ok: false,
    problem: expect.any(String) as string,
  });
});

test('no input makes it throw, and what passes is bounded', () => {
  fc.assert(
    fc.property(fc.anything(), (input) => {
      const checked = checkReplaySignal(input);
      if (!checked.ok) return;
      expect(checked.replayedBy.length).toBeLessThanOrEqual(255);
      expect(checked.reason.length).toBeLessThanOrEqual(500);
    }),
  );
});
