/** `waybill routes list`: one page of routes, the last assigned first. */
import type { Command } from 'commander';
import type { RouteSummary } from '../../schemas/api-routes';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly instance?: string;
  readonly replica?: string;
  readonly open?: true;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(routes: Command): void {
  withApiOptions(
    routes
      .command('list')
      .description('List routes, the last assigned first.')
      .option('--instance <id>', 'to this instance')
      .option('--replica <id>', 'to this replica')
      .option('--open', 'only those that hold a reservation now')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill routes list --instance tracker --open\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { instance, replica, limit, cursor } = options;
  const api = await openApi(options);
  const open = options.open ? ('true' as const) : undefined;
  const query = { instanceId: instance, replicaId: replica, open, limit, cursor };
  const page = await api.listRoutes(query);
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.routes.length === 0) {
    printLine('no route matches');
    return;
  }
  printLine(renderTable(COLUMNS, page.routes, terminalWidth()));
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<RouteSummary>[] = [
  { title: 'action', value: (row) => row.actionId },
  { title: 'instance', value: (row) => row.instanceId, optional: 3 },
  { title: 'replica', value: (row) => row.replicaId },
  { title: 'capability', value: (row) => row.capabilityId, optional: 4 },
  { title: 'assigned', value: (row) => secondsOf(row.assignedAt), optional: 1 },
  { title: 'tries', value: (row) => String(row.attemptCount), optional: 2 },
  {
    title: 'open until',
    value: (row) => (row.openUntil === null ? '-' : secondsOf(row.openUntil)),
  },
];
