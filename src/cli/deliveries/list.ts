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
  readonly direction?: 'inbound' | 'outbound';
  readonly reason?: string;
  readonly event?: string;
  readonly externalId?: string;
  readonly since?: string;
  readonly until?: string;
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
      .addOption(
        new Option('--direction <direction>', 'received or sent').choices(['inbound', 'outbound']),
      )
      .option('--reason <reason>', 'rejected, failed or waiting for this reason')
      .option('--event <type>', 'of this event type')
      .option('--external-id <id>', "with this id of the vendor's")
      .option('--since <when>', 'received since: 15m, 2h, 7d ago, or an instant', parseSince)
      .option('--until <when>', 'received before: likewise', parseSince)
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
  const { state, connector, subscription, direction, reason, externalId, limit, cursor } = options;
  const wanted = {
    ...{ state, connector, subscription, direction, reason, externalId, limit, cursor },
    ...{ eventType: options.event, receivedFrom: options.since, receivedTo: options.until },
  };
  return Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
}

const COLUMNS: readonly Column<DeliverySummary>[] = [
  { title: 'delivery', value: (row) => row.deliveryId },
  { title: 'state', value: (row) => row.state },
  { title: 'event', value: (row) => row.eventType },
  { title: 'subscription', value: (row) => row.subscriptionId ?? '-', optional: 3 },
  { title: 'lane', value: (row) => row.lane, optional: 5 },
  { title: 'tries', value: (row) => String(row.attempts), optional: 2 },
  { title: 'received', value: (row) => secondsOf(row.receivedAt), optional: 1 },
  { title: 'reason', value: (row) => row.reason ?? '', optional: 4 },
];
