/** `waybill scheme list`: the schemes that come with Waybill. */
import type { Command } from 'commander';
import type { WebhookScheme } from '../../schemas/webhook-schemes';
import { printJson, printLine, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

export function addList(scheme: Command): void {
  scheme
    .command('list')
    .description('List the schemes that come with Waybill.')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  $ waybill scheme list\n')
    .action(list);
}

async function list(options: { readonly json?: true }): Promise<void> {
  const { loadShippedSchemes } = await import('../../schemas/shipped-schemes.js');
  const schemes = [...loadShippedSchemes()];
  if (options.json) {
    printJson(schemes.map(([name, { docs, kind }]) => ({ name, kind, docs: docs ?? null })));
    return;
  }
  printLine(renderTable(COLUMNS, schemes, terminalWidth()));
}

const COLUMNS: readonly Column<readonly [string, WebhookScheme]>[] = [
  { title: 'name', value: ([name]) => name },
  { title: 'kind', value: ([, { kind }]) => kind },
  { title: 'signs', value: ([, scheme]) => signed(scheme) },
  { title: 'tolerance', value: ([, scheme]) => tolerance(scheme), optional: 2 },
  { title: 'documentation', value: ([, { docs }]) => docs ?? '-', optional: 1 },
];

function signed(scheme: WebhookScheme): string {
  if ('message' in scheme) return scheme.message;
  return scheme.kind === 'jwt' ? 'claims' : 'nothing';
}

function tolerance(scheme: WebhookScheme): string {
  const seconds = 'timestamp' in scheme ? scheme.timestamp?.tolerance_s : null;
  return typeof seconds === 'number' ? `${seconds} s` : '-';
}
