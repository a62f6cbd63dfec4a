/** `waybill actions`: starting, finding, showing, cancelling, moving and resolving actions. */
import type { Command } from 'commander';
import { addCancel } from './actions/cancel';
import { addList } from './actions/list';
import { addRepin } from './actions/repin';
import { addResolve } from './actions/resolve';
import { addShow } from './actions/show';
import { addStart } from './actions/start';

export function addActions(program: Command): void {
  const actions = program
    .command('actions')
    .description('Start, find, show, cancel, move and resolve actions.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nWorks on the API at --api, WAYBILL_API_URL or of a running `waybill up`, with the token\n' +
        'WAYBILL_TOKEN, or on this machine with its development key.\n' +
        '\nExample: what waits for time or a person, and why\n  $ waybill actions list --waiting\n',
    );
  addStart(actions);
  addList(actions);
  addShow(actions);
  addCancel(actions);
  addRepin(actions);
  addResolve(actions);
}
