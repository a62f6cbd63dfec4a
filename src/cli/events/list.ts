/** `waybill events list`: one page of the feed, oldest first. */
import type { Command } from 'commander';
import type { EventPage } from '../../schemas/api-events';
import { openApi } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';
import { gistOf, nameOf, typesOf, withEventOptions, type EventsOptions } from './options';

interface ListOptions extends EventsOptions {
  readonly limit?: string;
}

export function addList(events: Command): void {
  withEventOptions(
    events
      .command('list')
      .description('List events, oldest first.')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill events list --type DeliveryFailed\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { after, limit } = options;
  const api = await openApi(options);
  const page = await api.listEvents({ after, limit, types: typesOf(options) });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.events.length === 0) printLine('no event here');
  else printLine(renderTable(COLUMNS, page.events, terminalWidth()));
  if (page.more) printLine(`\nmore: the same command with --after ${page.next}`);
}

const COLUMNS: readonly Column<EventPage['events'][number]>[] = [
  { title: 'time', value: (row) => secondsOf(row.time) },
  { title: 'event', value: nameOf },
  { title: 'subject', value: (row) => row.subject },
  { title: 'no', value: (row) => row.sequence, optional: 2 },
  { title: 'says', value: gistOf, optional: 1 },
];
