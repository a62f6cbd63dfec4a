/** What came of the suite, for people and for programs. */
import { countCases, type CaseResult } from '../../domain/conformance';
import { CommandFailure } from '../support/failures';
import { printJson, printLine, terminalWidth } from '../support/output';
import { facts, page, titled } from '../support/sections';
import { renderTable, type Column } from '../support/table';
import type { HostReport } from './try-host';

/** Prints; @throws CommandFailure `not_conformant` naming the first case that failed */
export function printReport({ suiteVersion, subject, cases }: HostReport, json: boolean): void {
  const counts = countCases(cases);
  if (json) printJson({ suiteVersion, subject, counts, cases });
  else printLine(page([casesTable(cases), ...failedCases(cases)]));
  const told = `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
  if (!json) printLine(`\nsuite ${suiteVersion}: ${told}`);
  const failed = cases.find(({ verdict }) => verdict === 'failed');
  if (failed !== undefined) throw notConformant(failed, counts.failed);
}

export function notConformant(
  { id, why }: Pick<CaseResult, 'id' | 'why'>,
  count: number,
): CommandFailure {
  const more = count > 1 ? ` (and ${count - 1} more)` : '';
  return new CommandFailure('not_conformant', `${id} failed${more}: ${why ?? ''}`);
}

export function casesTable(cases: readonly CaseResult[]): string {
  return cases.length === 0 ? '' : renderTable(COLUMNS, cases, terminalWidth());
}

/** Each with its rule, what was sent, and what came back. */
export function failedCases(
  cases: readonly Pick<CaseResult, 'id' | 'verdict' | 'rule' | 'why' | 'exchanges'>[],
): string[] {
  return cases
    .filter(({ verdict }) => verdict === 'failed')
    .map(({ id, rule, why, exchanges }) => {
      const last = exchanges.at(-1);
      return titled(
        `failed: ${id}`,
        facts([
          ['why', why ?? ''],
          ['rule', rule],
          ['sent', last?.sent ?? ''],
          ['came back', last?.cameBack ?? ''],
        ]),
      );
    });
}

const COLUMNS: readonly Column<CaseResult>[] = [
  { title: 'case', value: ({ id }) => id },
  { title: 'verdict', value: ({ verdict }) => verdict },
  { title: 'ms', value: ({ durationMs }) => String(durationMs), optional: 1 },
  { title: 'why', value: ({ why }) => why ?? '-', wraps: true },
];
