/** `waybill replay list`: one page of jobs, newest first. */
import { Option, type Command } from 'commander';
import { BULK_REPLAY_STATES, type BulkReplayState } from '../../domain/bulk-replays';
import type { BulkReplaySummary } from '../../schemas/api-bulk-replays';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly state?: BulkReplayState;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(replay: Command): void {
  withApiOptions(
    replay
      .command('list')
      .description('List jobs, newest first.')
      .addOption(new Option('--state <state>', 'in this state').choices(BULK_REPLAY_STATES))
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill replay list --state running\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { state, limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.replays.list({
    ...(state === undefined ? {} : { state }),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.replays.length === 0) {
    printLine('no job matches');
    return;
  }
  printLine(renderTable(COLUMNS, page.replays, terminalWidth()));
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<BulkReplaySummary>[] = [
  { title: 'job', value: (row) => row.jobId },
  { title: 'state', value: (row) => row.state },
  { title: 'planned', value: (row) => String(row.planned) },
  { title: 'replayed', value: (row) => String(row.replayed) },
  { title: 'acknowledged', value: (row) => String(row.acknowledged), optional: 2 },
  { title: 'failed again', value: (row) => String(row.failedAgain), optional: 3 },
  { title: 'made', value: (row) => secondsOf(row.createdAt), optional: 1 },
  { title: 'reason', value: (row) => row.reason, optional: 4 },
];
