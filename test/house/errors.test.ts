/** The error catalogue, the reasons, and docs/errors.md say the same; each code is expected by a test. */
import { FAILURE_REASONS } from '../../src/domain/attempts';
import { errorCatalogue, type ErrorCode } from '../../src/domain/errors';
import { verificationReasons } from '../../src/domain/verification';
import { read, typescriptFiles } from './repository';

const page = read('docs/errors.md');
const [codesPart = '', reasonsPart = ''] = page.split(/^## Reasons of .*$/m);
const codes = Object.keys(errorCatalogue) as ErrorCode[];

/** Rows of tables: the cells of each, without blanks. */
function rowsOf(markdown: string): string[][] {
  return [...markdown.matchAll(/^\| *`.*\|$/gm)].map(([row]) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

function codesIn(cell: string): string[] {
  return [...cell.matchAll(/`([a-z0-9_]+)`/g)].map(([, code = '']) => code);
}

test('docs/errors.md explains each code once, and no other', () => {
  const documented = rowsOf(codesPart).flatMap(([cell = '']) => codesIn(cell));
  expect([...documented].sort()).toEqual([...codes].sort());
});

test('status and "again" are those of the catalogue', () => {
  const stated = rowsOf(codesPart).filter((cells) => cells.length === 4);
  expect(stated.length).toBeGreaterThan(0);
  for (const [cell = '', status, again] of stated) {
    const entry = errorCatalogue[codesIn(cell)[0] as ErrorCode];
    expect([cell, status, again]).toEqual([
      cell,
      String(entry.status),
      entry.retryable ? 'yes' : 'no',
    ]);
  }
});

test('docs/errors.md explains each reason of a delivery, and no other', () => {
  const documented = rowsOf(reasonsPart).flatMap(([cell = '']) => codesIn(cell));
  // The stale one is an error code, too: it is written where freshness is judged.
  const reasons = [...FAILURE_REASONS, ...verificationReasons, 'signature_stale'];
  expect([...new Set(documented)].sort()).toEqual([...new Set(reasons)].sort());
});

test('each code is what some test expects to get', () => {
  const tests = typescriptFiles('test').filter((file) => !file.startsWith('test/house/'));
  const all = tests.map(read).join('\n');
  expect(
    codes.filter((code) => !new RegExp(`(code"?: ?|toBe\\()['"]${code}['"]`).test(all)),
  ).toEqual([]);
});
