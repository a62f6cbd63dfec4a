/** `waybill approvals`: what waits for an approval, and giving or denying one. */
import type { Command } from 'commander';
import { addNewKey } from './approvals/new-key';
import { addSign } from './approvals/sign';

export function addApprovals(program: Command): void {
  const approvals = program
    .command('approvals')
    .description('Sign approvals with a key of your own.')
    .helpCommand(false)
    .addHelpText('after', '\nExample:\n  $ waybill approvals new-key kate.jwk\n');
  addNewKey(approvals);
  addSign(approvals);
}
