/** `waybill receipt`: evidence that can be checked by anyone. */
import type { Command } from 'commander';
import { addExport } from './receipt/export';
import { addVerify } from './receipt/verify';

export function addReceipt(program: Command): void {
  const receipt = program
    .command('receipt')
    .description('Check and export signed receipts.')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill deliveries show <delivery> --json | waybill receipt verify\n',
    );
  addVerify(receipt);
  addExport(receipt);
}
