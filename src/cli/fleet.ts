/** `waybill fleet`: the tenant's hosts, and the catalog as a file. */
import type { Command } from 'commander';
import { addExport } from './fleet/export';
import { addStatus } from './fleet/status';

export function addFleet(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('See the hosts that carry actions out, and what is published.')
    .helpCommand(false)
    .addHelpText('after', '\nExample:\n  $ waybill fleet status\n');
  addStatus(fleet);
  addExport(fleet);
}
