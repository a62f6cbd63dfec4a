/** `waybill connectors`: connector versions as the catalog has them. */
import type { Command } from 'commander';
import { addList } from './connectors/list';
import { addShow } from './connectors/show';

export function addConnectors(program: Command): void {
  const connectors = program
    .command('connectors')
    .description('Find connector versions.')
    .addHelpText('after', '\nExample:\n  $ waybill connectors list --state certified\n');
  addList(connectors);
  addShow(connectors);
}
