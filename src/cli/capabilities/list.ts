/** `waybill capabilities list`: one page of the catalog, by id. */
import type { Command } from 'commander';
import type { Capability } from '../../schemas/api-capabilities';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ListOptions extends ApiOptions {
  readonly search?: string;
  readonly interface?: string;
  readonly profile?: string;
  readonly unbound?: true;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addList(capabilities: Command): void {
  withApiOptions(
    capabilities
      .command('list')
      .description('List capabilities by id.')
      .option('--search <text>', 'text within the id or the interface')
      .option('--interface <name>', 'of this interface')
      .option('--profile <name>', 'served by a version that supports this profile')
      .option('--unbound', 'also what the tenant has not bound (scope factory.catalog.internal)')
      .option('--limit <count>', 'at most so many, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill capabilities list --interface work-items\n')
    .action(list);
}

async function list(options: ListOptions): Promise<void> {
  const { search, profile, limit, cursor } = options;
  const api = await openApi(options);
  const page = await api.listCapabilities({
    ...{ search, interface: options.interface, profile, limit, cursor },
    unbound: options.unbound ? ('true' as const) : undefined,
  });
  if (options.json) {
    printJson(page);
    return;
  }
  if (page.capabilities.length > 0) {
    printLine(renderTable(COLUMNS, page.capabilities, terminalWidth()));
  } else if (page.nextCursor === null) {
    printLine('no capability matches');
  }
  printMore(page.nextCursor);
}

const COLUMNS: readonly Column<Capability>[] = [
  { title: 'capability', value: (row) => row.capabilityId },
  { title: 'interface', value: (row) => row.interface, optional: 2 },
  { title: 'side effect', value: (row) => row.sideEffect },
  { title: 'recovery', value: (row) => row.recovery, optional: 3 },
  { title: 'profiles', value: (row) => row.profiles.join(', '), optional: 4 },
  { title: 'bound', value: (row) => (row.bound ? 'yes' : 'no'), optional: 1 },
];
