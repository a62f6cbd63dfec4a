/** `waybill subscriptions`: pausing and resuming them. */
import type { Command } from 'commander';
import { addSwitches } from './support/switching';

export function addSubscriptions(program: Command): void {
  const subscriptions = program
    .command('subscriptions')
    .description('Pause and resume subscriptions.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample: its target answered 410 and has moved\n' +
        '  $ waybill subscriptions resume pushes --reason "published its new address"\n',
    );
  addSwitches(subscriptions, {
    of: 'subscriptions',
    pause: 'Dispatch nothing of a subscription until it is resumed; it keeps collecting.',
    resume: 'Dispatch again, whatever paused it; what waited goes out at its drain rate.',
  });
}
