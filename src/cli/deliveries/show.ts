/** `waybill deliveries show`: everything about one delivery, as a page for people. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { deliveryPage } from '../support/delivery-page';
import { printJson, printLine, terminalWidth } from '../support/output';

interface ShowOptions extends ApiOptions {
  readonly json?: true;
}

export function addShow(deliveries: Command): void {
  withApiOptions(
    deliveries
      .command('show')
      .description('Show one delivery: facts, evidence, attempts, replays, receipts.')
      .argument('<delivery>', 'the delivery id')
      .option('--json', 'answer as JSON, as `waybill receipt verify` reads it'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill deliveries show 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa\n',
    )
    .action(show);
}

async function show(deliveryId: string, options: ShowOptions): Promise<void> {
  const api = await openApi(options);
  const delivery = await api.show(deliveryId);
  if (options.json) printJson(delivery);
  else printLine(deliveryPage(delivery, terminalWidth()));
}
