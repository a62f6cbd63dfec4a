/** `waybill subscriptions list`: one page of subscriptions, by id. */
import type { Command } from 'commander';
import type { Subscription } from '../../schemas/api-subscriptions';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(subscriptions: Command): void {
  withApiOptions(
    subscriptions
      .command('list')
      .description('List subscriptions with their state, connection and target.')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill subscriptions list\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.subscriptions.list({ limit, cursor });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.subscriptions.length === 0) {
    printLine('the tenant has no subscription');
    return;
  }
  printLine(renderTable(COLUMNS, page.subscriptions, terminalWidth()));
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<Subscription>[] = [
  { title: 'subscription', value: (row) => row.subscriptionId },
  { title: 'state', value: (row) => row.state },
  { title: 'instance', value: (row) => row.instanceId },
  { title: 'connector', value: (row) => `${row.connectorId} ${row.version}`, optional: 2 },
  { title: 'target', value: (row) => row.targetId },
  { title: 'event types', value: (row) => row.eventTypes.join(', '), wraps: true, optional: 1 },
];
