/** `waybill routes open` and `waybill routes unknown`: attempts that somebody may have to look at. */
import type { Command } from 'commander';
import type { AttemptState, OperatorAttempt } from '../../schemas/api-route-operations';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

const WHAT: Readonly<Record<AttemptState, { readonly does: string; readonly none: string }>> = {
  open: {
    does: 'List the reservations that are held now, the longest first.',
    none: 'no reservation is held',
  },
  unknown: {
    does: 'List the actions of which nobody knows what became of them, the longest first.',
    none: 'what became of every action is known',
  },
};

export function addAttempts(routes: Command): void {
  for (const state of ['open', 'unknown'] as const) {
    withApiOptions(
      routes
        .command(state)
        .description(WHAT[state].does)
        .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
        .option('--cursor <cursor>', 'go on where the page before ended')
        .option('--json', 'answer as JSON'),
    )
      .addHelpText('after', `\nExample:\n  $ waybill routes ${state} --limit 10\n`)
      .action((options: ListOptions) => list(state, options));
  }
}

async function list(state: AttemptState, options: ListOptions): Promise<void> {
  const { limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.listAttempts({ state, limit, cursor });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.attempts.length === 0) {
    printLine(WHAT[state].none);
    return;
  }
  printLine(renderTable(COLUMNS[state], page.attempts, terminalWidth()));
  printMore(page.nextCursor);
}

type Columns = readonly Column<OperatorAttempt>[];

const COMMON: Columns = [
  { title: 'since', value: (row) => secondsOf(row.since) },
  { title: 'action', value: (row) => row.actionId },
  { title: 'state', value: (row) => row.actionState },
  { title: 'replica', value: (row) => row.replicaId },
  { title: 'capability', value: (row) => row.capabilityId, optional: 3 },
  { title: 'tries', value: (row) => String(row.attemptNo), optional: 2 },
];

const COLUMNS: Readonly<Record<AttemptState, Columns>> = {
  open: [
    ...COMMON,
    { title: 'open until', value: (row) => secondsOf(row.deadlineAt), optional: 1 },
  ],
  unknown: [
    ...COMMON,
    { title: 'reason', value: (row) => row.reason ?? row.cause ?? '', optional: 1 },
  ],
};
