/** `waybill quotas`: which quota scopes are full, and who holds them. */
import type { Command } from 'commander';
import type { OwnScope, QuotaPage, SharedScope } from '../schemas/api-quotas';
import { openApi, withApiOptions, type ApiOptions } from './support/api-access';
import { secondsOf } from './support/instants';
import { printJson, printLine, printMore, terminalWidth } from './support/output';
import { renderTable, type Column } from './support/table';

interface QuotaOptions extends ApiOptions {
  readonly full?: true;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addQuotas(program: Command): void {
  withApiOptions(
    program
      .command('quotas')
      .description('See how full the quota scopes are, and who holds them the longest.')
      .option('--full', 'only those that are full')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill quotas --full\n')
    .action(quotas);
}

async function quotas(options: QuotaOptions): Promise<void> {
  const { limit, cursor } = options;
  const api = await openApi(options);
  const full = options.full ? ('true' as const) : undefined;
  const page = await api.listQuotas({ full, limit, cursor });
  if (options.json) printJson(page);
  else show(page, options.full === true);
}

function show(page: QuotaPage, fullOnly: boolean): void {
  if (page.scopes.length === 0) {
    printLine(fullOnly ? 'no scope of the tenant is full' : 'nothing limits the tenant');
  } else {
    printLine(renderTable(COLUMNS, page.scopes, terminalWidth()));
    printMore(page.nextCursor);
  }
  const shared = page.shared.filter(({ full }) => full || !fullOnly);
  if (shared.length > 0) printLine(`\nshared by all tenants: ${shared.map(sharedText).join(', ')}`);
}

function sharedText({ scope, connectorId, full }: SharedScope): string {
  const name = connectorId === null ? scope : `${scope} ${connectorId}`;
  return `${name} ${full ? 'full' : 'not full'}`;
}

const COLUMNS: readonly Column<OwnScope>[] = [
  { title: 'scope', value: (row) => row.scope },
  { title: 'instance', value: (row) => row.instanceId ?? '-' },
  { title: 'capability', value: (row) => row.capabilityId ?? '-', optional: 2 },
  { title: 'held', value: (row) => `${row.held}/${row.limit ?? '-'}` },
  { title: 'full', value: (row) => (row.full ? 'yes' : 'no') },
  {
    title: 'held the longest by',
    value: ({ holders }) =>
      holders.map(({ actionId, openedAt }) => `${actionId} (${secondsOf(openedAt)})`).join(' '),
    wraps: true,
  },
];
