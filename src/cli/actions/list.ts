/** `waybill actions list`: one page of actions, newest first. */
import { Option, type Command } from 'commander';
import { ACTION_STATES, type ActionState } from '../../domain/action-states';
import type { ActionSummary } from '../../schemas/api-actions';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { parseSince, secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly state?: ActionState[];
  readonly capability?: string;
  readonly waiting?: true;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(actions: Command): void {
  withApiOptions(
    actions
      .command('list')
      .description('List actions, newest first.')
      .addOption(new Option('--state <states...>', 'in one of these states').choices(ACTION_STATES))
      .option('--capability <id>', 'of this capability')
      .option('--waiting', 'only those that wait for time or a person')
      .option('--since <when>', 'started since: 15m, 2h, 7d ago, or an instant', parseSince)
      .option('--until <when>', 'started before: 15m, 2h, 7d ago, or an instant', parseSince)
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill actions list --state failed needs_operator --since 2h\n',
    )
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { state, capability, since, until, limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.listActions({
    state,
    capabilityId: capability,
    waiting: options.waiting ? 'true' : undefined,
    from: since,
    until,
    limit,
    cursor,
  });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.actions.length === 0) {
    printLine('no action matches');
    return;
  }
  printLine(renderTable(COLUMNS, page.actions, terminalWidth()));
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<ActionSummary>[] = [
  { title: 'action', value: (row) => row.actionId },
  { title: 'state', value: (row) => row.state },
  { title: 'capability', value: (row) => row.capabilityId, optional: 4 },
  { title: 'tries', value: (row) => String(row.attemptCount), optional: 3 },
  { title: 'started', value: (row) => secondsOf(row.createdAt), optional: 1 },
  {
    title: 'waits since',
    value: (row) => (row.waitingSince === null ? '-' : secondsOf(row.waitingSince)),
    optional: 2,
  },
  { title: 'reason', value: (row) => row.reason ?? row.result?.errorCode ?? '', optional: 5 },
];
