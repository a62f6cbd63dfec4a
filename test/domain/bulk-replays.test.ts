import { bulkReplayDetails, countsText } from '../../src/domain/bulk-replay-details';
import type { BulkReplayCounts } from '../../src/domain/bulk-replays';
import { checkMoveSignal } from '../../src/domain/bulk-replays';

const NOTHING: BulkReplayCounts = {
  ...{ planned: 10, replayed: 0, acknowledged: 0, failedAgain: 0, open: 0, skipped: {}, left: 10 },
};

test.each([
  [undefined, { ok: true, by: 'temporal-ui', reason: null }],
  [{ by: 'grace' }, { ok: true, by: 'grace', reason: null }],
  [
    { by: 'grace', reason: 'lunch' },
    { ok: true, by: 'grace', reason: 'lunch' },
  ],
])('a signal with %j is taken', (input, expected) => {
  expect(checkMoveSignal(input)).toEqual(expected);
});

test.each([
  ['a text', 'grace', 'object'],
  ['a list', ['grace'], 'object'],
  ['a number for a name', { by: 7 }, '`by`'],
  ['an empty name', { by: ' ' }, '`by`'],
  ['a control character', { by: 'grace', reason: 'a\0b' }, '`reason`'],
  ['a long reason', { by: 'grace', reason: 'x'.repeat(501) }, '`reason`'],
])('a signal with %s is refused by name', (_what, input, named) => {
  const checked = checkMoveSignal(input);
  expect(checked.ok ? '' : checked.problem).toContain(named);
});

test('counts that are nothing are left out', () => {
  expect(countsText(NOTHING)).toBe('0 of 10 replayed, 0 acknowledged, 10 left');
  const all = { ...NOTHING, replayed: 7, acknowledged: 4, failedAgain: 2, open: 1, left: 1 };
  expect(countsText({ ...all, skipped: { under_way: 2 } })).toBe(
    '7 of 10 replayed, 4 acknowledged, 2 failed again, 1 under way, 2 skipped (under_way), 1 left',
  );
});

test('a page names what it waits for, and of many some', () => {
  const held = Array.from({ length: 7 }, (_, n) => `subscription/s${n}`);
  const running = { kind: 'running', counts: NOTHING, dueInMs: null } as const;
  expect(bulkReplayDetails({ ...running, full: ['crm'], held }, 'job')).toContain(
    'Waits until `crm` has dealt with what it was given, and until `subscription/s0`, ' +
      '`subscription/s1`, `subscription/s2`, `subscription/s3`, `subscription/s4` and 2 more takes',
  );
  expect(bulkReplayDetails({ ...running, full: [], held: [] }, 'job')).not.toContain('Waits');
  const last = { ...running, full: [], held: [], counts: { ...NOTHING, left: 0, open: 3 } };
  expect(bulkReplayDetails(last, 'job')).toContain('Waits for what is under way');
});
