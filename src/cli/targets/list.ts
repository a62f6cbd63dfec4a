/** `waybill targets list`: one page of targets, by id. */
import type { Command } from 'commander';
import type { TargetStatus } from '../../schemas/api-targets';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(targets: Command): void {
  withApiOptions(
    targets
      .command('list')
      .description('List targets with breaker, pause, drain rate, and what waits for them.')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill targets list\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.listTargets({ limit, cursor });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.targets.length === 0) {
    printLine('the tenant has no target');
    return;
  }
  printLine(renderTable(COLUMNS, page.targets, terminalWidth()));
  printMore(page.nextCursor);
}

/** As many as are counted at most. */
const COUNTED = 1000;

const COLUMNS: readonly Column<TargetStatus>[] = [
  { title: 'target', value: (row) => row.targetId },
  { title: 'kind', value: (row) => row.kind, optional: 2 },
  { title: 'breaker', value: breakerText },
  { title: 'paused', value: pausedText, wraps: true },
  { title: 'waiting', value: ({ waiting: n }) => (n < COUNTED ? String(n) : `${COUNTED}+`) },
  { title: 'under way', value: (row) => `${row.inFlight}/${row.maxInFlight}`, optional: 1 },
  { title: 'drains', value: (row) => `${row.drainPerSecond}/s`, optional: 3 },
];

function breakerText({ breaker, openUntil }: TargetStatus): string {
  return openUntil === null ? breaker : `${breaker} until ${secondsOf(openUntil)}`;
}

function pausedText({ pausedAt, pausedBy, pauseReason }: TargetStatus): string {
  return pausedAt === null
    ? '-'
    : `since ${secondsOf(pausedAt)} by ${pausedBy ?? ''}: ${pauseReason ?? ''}`;
}
