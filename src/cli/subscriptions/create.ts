/** `waybill subscriptions create`: a subscription with an ingress of its own. */
import type { Command } from 'commander';
import { openApi, withApiOptions } from '../support/api-access';
import { printSubscription } from '../support/subscription-page';
import { bodyOf, withSubscriptionOptions, type SubscriptionOptions } from './options';

interface CreateOptions extends SubscriptionOptions {
  readonly instance: string;
}

export function addCreate(subscriptions: Command): void {
  withApiOptions(
    withSubscriptionOptions(
      subscriptions
        .command('create')
        .description('Subscribe to events of a connection; says what to enter at the vendor.')
        .argument('<subscription>', 'its id')
        .requiredOption('--instance <id>', 'the connection'),
    ),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill subscriptions create issues --instance main --target tracker \\\n' +
        '      --events issues,issue_comment --secret main=file:acme/github\n',
    )
    .action(async (subscriptionId: string, { instance, ...options }: CreateOptions) => {
      const api = await openApi(options);
      const body = { subscriptionId, instanceId: instance, ...bodyOf(options) };
      printSubscription(await api.subscriptions.create(body), options.json);
    });
}
