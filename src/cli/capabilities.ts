/** `waybill capabilities`: what the tenant can use. */
import type { Command } from 'commander';
import { addList } from './capabilities/list';
import { addShow } from './capabilities/show';

export function addCapabilities(program: Command): void {
  const capabilities = program
    .command('capabilities')
    .description('Find and show the capabilities that the tenant can use.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample: what can be done with tickets\n  $ waybill capabilities list --search ticket\n',
    );
  addList(capabilities);
  addShow(capabilities);
}
