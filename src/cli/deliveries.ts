/** `waybill deliveries`: finding, showing, replaying and readmitting deliveries. */
import type { Command } from 'commander';
import { addList } from './deliveries/list';
import { addReadmit } from './deliveries/readmit';
import { addReplay } from './deliveries/replay';
import { addShow } from './deliveries/show';

export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('Find, show, replay and readmit deliveries.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nWorks on the API at --api, WAYBILL_API_URL or of a running `waybill up`, with the token\n' +
        'WAYBILL_TOKEN, or on this machine with its development key.\n' +
        '\nExample: what is stuck, and why\n  $ waybill deliveries list --state Failed\n',
    );
  addList(deliveries);
  addShow(deliveries);
  addReplay(deliveries);
  addReadmit(deliveries);
}
