/** `waybill scheme`: how vendors sign, as data; checking that it is described rightly. */
import type { Command } from 'commander';
import { addList } from './scheme/list';
import { addShow } from './scheme/show';
import { addTest } from './scheme/test';
import { addTry } from './scheme/try';

export function addScheme(program: Command): void {
  const scheme = program
    .command('scheme')
    .description('See webhook schemes, and check them against vectors and captured requests.')
    .helpCommand(false)
    .addHelpText('after', '\nExample:\n  $ waybill scheme show github\n');
  addList(scheme);
  addShow(scheme);
  addTest(scheme);
  addTry(scheme);
}
