/** `waybill approvals`: what waits for an approval, and giving or denying one. */
import type { Command } from 'commander';
import { addDecision } from './approvals/decide';
import { addList } from './approvals/list';
import { addNewKey } from './approvals/new-key';
import { addSign } from './approvals/sign';

export function addApprovals(program: Command): void {
  const approvals = program
    .command('approvals')
    .description('See what waits for an approval; approve it, deny it, or sign for it.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nAll but `sign` and `new-key` work on the API at --api, WAYBILL_API_URL or of a running\n' +
        '`waybill up`, with the token WAYBILL_TOKEN, or on this machine with its development key.\n' +
        '\nExample: what waits, and for how long\n  $ waybill approvals list\n',
    );
  addList(approvals);
  addDecision(approvals, 'approve');
  addDecision(approvals, 'deny');
  addSign(approvals);
  addNewKey(approvals);
}
