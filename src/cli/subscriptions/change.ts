/** `waybill subscriptions change`, `deactivate` and `rotate-ingress`. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printSubscription } from '../support/subscription-page';
import { bodyOf, withSubscriptionOptions, type SubscriptionOptions } from './options';

interface DeactivateOptions extends ApiOptions {
  readonly reason: string;
  readonly json?: true;
}

interface RotateOptions extends ApiOptions {
  readonly oldUntil?: string;
  readonly json?: true;
}

export function addChange(subscriptions: Command): void {
  withApiOptions(
    withSubscriptionOptions(
      subscriptions
        .command('change')
        .description('Change what is named of a subscription, and leave the rest.')
        .argument('<subscription>', "the subscription's id"),
    ),
  )
    .addHelpText('after', '\nExample:\n  $ waybill subscriptions change issues --events issues\n')
    .action(async (id: string, options: SubscriptionOptions) => {
      const api = await openApi(options);
      printSubscription(await api.subscriptions.change(id, bodyOf(options)), options.json);
    });
}

export function addDeactivate(subscriptions: Command): void {
  withApiOptions(
    subscriptions
      .command('deactivate')
      .description('End a subscription: its ingress answers 410, and what is pending fails.')
      .argument('<subscription>', "the subscription's id")
      .requiredOption('--reason <text>', 'why, for the audit log')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill subscriptions deactivate issues --reason "moved away"\n',
    )
    .action(async (id: string, options: DeactivateOptions) => {
      const api = await openApi(options);
      printSubscription(await api.subscriptions.deactivate(id, options.reason), options.json);
    });
}

export function addRotateIngress(subscriptions: Command): void {
  withApiOptions(
    subscriptions
      .command('rotate-ingress')
      .description('Give the ingress a new address; the old one works for a while.')
      .argument('<subscription>', "the subscription's id")
      .option('--old-until <instant>', 'until when the old one works (default: a day from now)')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill subscriptions rotate-ingress issues\n')
    .action(async (id: string, options: RotateOptions) => {
      const api = await openApi(options);
      printSubscription(await api.subscriptions.rotateIngress(id, options.oldUntil), options.json);
    });
}
