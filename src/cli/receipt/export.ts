/** `waybill receipt export`: every receipt of a tenant, in one file that anyone can check. */
import { once } from 'node:events';
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';

export function addExport(receipt: Command): void {
  withApiOptions(
    receipt
      .command('export')
      .description('Write every chain of receipts of a tenant, with the checkpoints over them.'),
  )
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  $ waybill receipt export --tenant acme > acme-receipts.ndjson\n' +
        '  $ waybill receipt verify acme-receipts.ndjson --jwks keys.json\n',
    )
    .action(exportReceipts);
}

async function exportReceipts(options: ApiOptions): Promise<void> {
  const api = await openApi(options);
  for await (const part of api.exportReceipts()) {
    if (!process.stdout.write(part)) await once(process.stdout, 'drain');
  }
}
