/** `waybill fleet`: the tenant's hosts. */
import type { Command } from 'commander';
import { addStatus } from './fleet/status';

export function addFleet(program: Command): void {
  const fleet = program
    .command('fleet')
    .description('See the hosts that carry actions out.')
    .helpCommand(false)
    .addHelpText('after', '\nExample:\n  $ waybill fleet status\n');
  addStatus(fleet);
}
