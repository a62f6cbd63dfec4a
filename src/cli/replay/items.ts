/** `waybill replay items`: what became of each delivery of a job. */
import { Option, type Command } from 'commander';
import { ITEM_OUTCOMES, type ReplayItem } from '../../schemas/api-bulk-replays';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ItemsOptions extends ApiOptions {
  readonly outcome?: (typeof ITEM_OUTCOMES)[number];
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addItems(replay: Command): void {
  withApiOptions(
    replay
      .command('items')
      .description('List the deliveries of a job, oldest first, with what became of each.')
      .argument('<job>', 'the job id')
      .addOption(new Option('--outcome <outcome>', 'with this outcome').choices(ITEM_OUTCOMES))
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  $ waybill replay items 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa --outcome failed_again\n',
    )
    .action(items);
}

async function items(jobId: string, options: ItemsOptions): Promise<void> {
  const { outcome, limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.replays.items(jobId, {
    ...(outcome === undefined ? {} : { outcome }),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.items.length === 0) {
    printLine('no delivery matches');
    return;
  }
  printLine(renderTable(COLUMNS, page.items, terminalWidth()));
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<ReplayItem>[] = [
  { title: 'no', value: (row) => String(row.position) },
  { title: 'delivery', value: (row) => row.deliveryId },
  { title: 'outcome', value: (row) => row.outcome },
  { title: 'why', value: (row) => row.skippedWhy ?? '', optional: 1 },
  { title: 'subscription', value: (row) => row.subscriptionId, optional: 2 },
];
