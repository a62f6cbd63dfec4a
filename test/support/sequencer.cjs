/**
 * The order of the test files: those that wait for servers and processes to die and come back go first, so
 * that none of them is alone at the end. Jest itself knows how long a file takes only where it ran before;
 * on a clean clone it goes by the size of the file, and those are short.
 */
const { sep } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');

/** Longest first; below `test`. */
const LONG = [
  'cli/up.test.ts',
  'http/schemathesis.test.ts',
  'faults/',
  'qualification/',
  'workflows/',
  'examples/',
  'registry/',
  'cli/',
  'hosts/',
];

class LongFirst extends Sequencer {
  /** Within one rank, Jest's own order. */
  sort(tests) {
    const ranked = super.sort(tests).map((test) => ({ test, rank: rankOf(test) }));
    return ranked.sort((one, other) => one.rank - other.rank).map(({ test }) => test);
  }
}

function rankOf({ path, context }) {
  const root = [context.config.rootDir, 'test', ''].join(sep);
  const file = path.slice(root.length).replaceAll(sep, '/');
  const rank = LONG.findIndex((long) => file.startsWith(long));
  return rank === -1 ? LONG.length : rank;
}

module.exports = LongFirst;
