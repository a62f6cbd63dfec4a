/** `waybill subscriptions`: what is received, and by which address. */
import type { Command } from 'commander';
import { addChange, addDeactivate, addRotateIngress } from './subscriptions/change';
import { addCreate } from './subscriptions/create';
import { addList } from './subscriptions/list';
import { addShow } from './subscriptions/show';
import { addSwitches } from './support/switching';

export function addSubscriptions(program: Command): void {
  const subscriptions = program
    .command('subscriptions')
    .description('See, create, change, pause and end subscriptions.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample: its target answered 410 and has moved\n' +
        '  $ waybill subscriptions resume pushes --reason "published its new address"\n',
    );
  addList(subscriptions);
  addShow(subscriptions);
  addCreate(subscriptions);
  addChange(subscriptions);
  addSwitches(subscriptions, {
    of: 'subscriptions',
    pause: 'Dispatch nothing of a subscription until it is resumed; it keeps collecting.',
    resume: 'Dispatch again, whatever paused it; what waited goes out at its drain rate.',
  });
  addDeactivate(subscriptions);
  addRotateIngress(subscriptions);
}
