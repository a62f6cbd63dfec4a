/** `waybill scheme show`: one scheme, ready to be copied into a fleet file. */
import type { Command } from 'commander';
import { printJson, printLine } from '../support/output';

export function addShow(scheme: Command): void {
  scheme
    .command('show')
    .description('Print a scheme: one that comes with Waybill, or a file, which is checked so.')
    .argument('<scheme>', 'a name of `waybill scheme list`, or the path of a file')
    .option('--json', 'answer as JSON')
    .addHelpText('after', '\nExample:\n  $ waybill scheme show zoom\n')
    .action(show);
}

async function show(name: string, options: { readonly json?: true }): Promise<void> {
  const { namedScheme } = await import('./named.js');
  const scheme = await namedScheme(name);
  if (options.json) {
    printJson(scheme);
    return;
  }
  const { stringify } = await import('yaml');
  printLine(stringify(scheme, { lineWidth: 0 }).trimEnd());
}
