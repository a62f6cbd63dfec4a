/** `waybill events sinks`: where events are sent, and what does not take them. */
import type { Command } from 'commander';
import type { EventSink, EventSinkPage } from '../../schemas/api-events';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface SinksOptions extends ApiOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addSinks(events: Command): void {
  withApiOptions(
    events
      .command('sinks')
      .description('See the event sinks, how far behind they are, and why.')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample: what is stuck, and why\n  $ waybill events sinks\n')
    .action(sinks);
}

async function sinks(options: SinksOptions): Promise<void> {
  const { limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.listEventSinks({ limit, cursor });
  if (options.json) printJson(page);
  else show(page);
}

function show({ sinks: rows, nextCursor }: EventSinkPage): void {
  if (rows.length === 0) {
    printLine('the tenant has no event sink');
    return;
  }
  printLine(renderTable(COLUMNS, rows, terminalWidth()));
  const parked = rows.flatMap((sink) =>
    sink.parked.map(({ subject, detail, nextAttemptAt }) => {
      const again = `tried again ${secondsOf(nextAttemptAt)}`;
      return `${sink.sinkId}: ${subject} waits: ${detail ?? 'refused'}; ${again}`;
    }),
  );
  if (parked.length > 0) printLine(`\n${parked.join('\n')}`);
  printMore(nextCursor);
}

const COLUMNS: readonly Column<EventSink>[] = [
  { title: 'sink', value: (row) => row.sinkId },
  { title: 'state', value: (row) => row.state },
  { title: 'behind', value: ({ behind }) => (behind === 1000 ? '1000+' : String(behind)) },
  {
    title: 'oldest',
    value: ({ oldestBehindAt }) => (oldestBehindAt === null ? '-' : secondsOf(oldestBehindAt)),
    optional: 1,
  },
  { title: 'parked', value: (row) => String(row.parkedCount), optional: 3 },
  { title: 'missed', value: (row) => String(row.missed), optional: 4 },
  {
    title: 'next try',
    value: ({ nextAttemptAt }) => (nextAttemptAt === null ? '-' : secondsOf(nextAttemptAt)),
    optional: 2,
  },
  { title: 'why', value: (row) => row.pauseReason ?? row.detail ?? '', wraps: true },
];
