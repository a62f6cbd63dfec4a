/** `waybill plans`: what starting several actions would meet. */
import type { Command } from 'commander';
import { addVerify } from './plans/verify';

export function addPlans(program: Command): void {
  const plans = program
    .command('plans')
    .description('Verify plans of actions before any is started.')
    .helpCommand(false)
    .addHelpText('after', '\nExample:\n  $ waybill plans verify plan.json\n');
  addVerify(plans);
}
