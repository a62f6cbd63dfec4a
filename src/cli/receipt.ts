/** `waybill receipt`: evidence that can be checked by anyone. */
import type { Command } from 'commander';
import { addVerify } from './receipt/verify';

export function addReceipt(program: Command): void {
  const receipt = program
    .command('receipt')
    .description('Check signed receipts.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill deliveries show <delivery> --json | waybill receipt verify\n',
    );
  addVerify(receipt);
}
