/** `waybill connectors list`: one page of versions, by connector. */
import { Option, type Command } from 'commander';
import { CONNECTOR_STATUSES, type ConnectorStatus } from '../../domain/connector-states';
import type { ConnectorDescriptor } from '../../schemas/api-connectors';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly connector?: string;
  readonly state?: ConnectorStatus;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(connectors: Command): void {
  withApiOptions(
    connectors
      .command('list')
      .description('List connector versions: those of the platform, and of the tenant itself.')
      .option('--connector <id>', 'the versions of this one alone')
      .addOption(new Option('--state <state>', 'in this state').choices(CONNECTOR_STATUSES))
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill connectors list --state certified\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { connector: connectorId, state, limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.connectors.list({ connectorId, state, limit, cursor });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.connectors.length > 0) {
    printLine(renderTable(COLUMNS, page.connectors, terminalWidth()));
  } else if (page.nextCursor === null) {
    printLine('no connector matches');
  }
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<ConnectorDescriptor>[] = [
  { title: 'connector', value: (row) => row.connectorId },
  { title: 'version', value: (row) => row.version },
  { title: 'state', value: (row) => (row.enabled ? row.state : `${row.state}, disabled`) },
  { title: 'certification', value: (row) => row.certification?.state ?? '-', optional: 1 },
  { title: 'capabilities', value: (row) => row.capabilities.join(', ') || '-', optional: 2 },
  { title: 'webhooks', value: (row) => (row.webhookScheme === null ? 'no' : 'yes'), optional: 3 },
  { title: 'owner', value: (row) => row.tenantId, optional: 4 },
];
