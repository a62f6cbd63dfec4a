/** `waybill approvals list`: one page of what waits for an approval. */
import type { Command } from 'commander';
import type { ApprovalPage } from '../../schemas/api-approvals';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(approvals: Command): void {
  withApiOptions(
    approvals
      .command('list')
      .description('List actions that wait for an approval, those asked about first.')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill approvals list\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.listApprovals({ limit, cursor });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.approvals.length === 0) {
    printLine('nothing waits for an approval');
    return;
  }
  printLine(renderTable(COLUMNS, page.approvals, terminalWidth()));
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<ApprovalPage['approvals'][number]>[] = [
  { title: 'action', value: (row) => row.actionId },
  { title: 'capability', value: (row) => row.capabilityId },
  { title: 'requested by', value: (row) => row.requestedBy, optional: 2 },
  { title: 'asked', value: (row) => secondsOf(row.askedAt), optional: 1 },
  { title: 'expires', value: (row) => secondsOf(row.expiresAt) },
];
