/** `waybill targets`: where deliveries go, and whether anything holds them. */
import type { Command } from 'commander';
import { addSwitches } from './support/switching';
import { addList } from './targets/list';

export function addTargets(program: Command): void {
  const targets = program
    .command('targets')
    .description('See where deliveries go; pause and resume it.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample: which target is down, and how many wait for it\n  $ waybill targets list\n',
    );
  addList(targets);
  addSwitches(targets, {
    of: 'targets',
    pause: 'Send nothing to a target until it is resumed; its deliveries wait.',
    resume: 'Send to a target again; what waited goes out at its drain rate.',
  });
}
