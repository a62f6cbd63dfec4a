/** `waybill subscriptions show`: one subscription, with what to enter at the vendor. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printSubscription } from '../support/subscription-page';

interface ShowOptions extends ApiOptions {
  readonly json?: true;
}

export function addShow(subscriptions: Command): void {
  withApiOptions(
    subscriptions
      .command('show')
      .description('Show one subscription, with what to enter at the vendor.')
      .argument('<subscription>', "the subscription's id")
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill subscriptions show pushes\n')
    .action(async (id: string, options: ShowOptions) => {
      const api = await openApi(options);
      printSubscription(await api.subscriptions.show(id), options.json);
    });
}
