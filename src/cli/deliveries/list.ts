/** `waybill deliveries list`: one page of deliveries, newest first. */
import { Option, type Command } from 'commander';
import { DELIVERY_STATES } from '../../domain/delivery-states';
import type { DeliverySummary } from '../../schemas/api-deliveries';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import type { ListQuery } from '../support/api-client';
import { parseSince, secondsOf } from '../support/instants';
import { printMore, printJson, printLine, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly state?: (typeof DELIVERY_STATES)[number];
  readonly connector?: string;
  readonly subscription?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(deliveries: Command): void {
  withApiOptions(
    deliveries
      .command('list')
      .description('List deliveries, newest first.')
      .addOption(new Option('--state <state>', 'in this state').choices(DELIVERY_STATES))
      .option('--connector <id>', 'of this connector')
      .option('--subscription <id>', 'of this subscription')
      .option('--since <when>', 'received since: 15m, 2h, 7d ago, or an instant', parseSince)
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill deliveries list --state Failed --since 2h\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const api = await openApi(options);
  const page = await api.list(queryOf(options));
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.deliveries.length === 0) {
    printLine('no delivery matches');
    return;
  }
  printLine(renderTable(COLUMNS, page.deliveries, terminalWidth()));
  printMore(page.nextCursor);
}

function queryOf(options: ListOptions): ListQuery {
  const { state, connector, subscription, since, limit, cursor } = options;
  return {
    ...(state === undefined ? {} : { state }),
    ...(connector === undefined ? {} : { connector }),
    ...(subscription === undefined ? {} : { subscription }),
    ...(since === undefined ? {} : { receivedFrom: since }),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

const COLUMNS: readonly Column<DeliverySummary>[] = [
  { title: 'delivery', value: (row) => row.deliveryId },
  { title: 'state', value: (row) => row.state },
  { title: 'event', value: (row) => row.eventType },
  { title: 'subscription', value: (row) => row.subscriptionId ?? '-', optional: 3 },
  { title: 'tries', value: (row) => String(row.attempts), optional: 2 },
  { title: 'received', value: (row) => secondsOf(row.receivedAt), optional: 1 },
  { title: 'reason', value: (row) => row.reason ?? '', optional: 4 },
];
