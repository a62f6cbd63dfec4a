/** How `waybill up --story` ends, by what came of the story. */
import { storyFailure } from '../../../src/cli/support/run-up';

test.each([
  ['came out', true, true, null],
  ['did not come out', false, true, 'story_failed'],
  ['did not come out, and the rest runs on', false, false, 'story_failed'],
  ['was cut off where it was all that was asked for', null, true, 'interrupted'],
  ['was cut off by who ends the rest, too', null, false, null],
])('a story that %s', (_what, asExpected, once, code) => {
  expect(storyFailure(asExpected, once)?.code ?? null).toBe(code);
});
