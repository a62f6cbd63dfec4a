/** `waybill deliveries replay`: dispatches a failed delivery again. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';

interface ReplayOptions extends ApiOptions {
  readonly reason: string;
  readonly confirmUncertain?: true;
  readonly approval?: string;
  readonly json?: true;
}

export function addReplay(deliveries: Command): void {
  withApiOptions(
    deliveries
      .command('replay')
      .description('Dispatch a failed delivery again, from its stored bytes.')
      .argument('<delivery>', 'the delivery id')
      .requiredOption('--reason <text>', 'why, for the audit log and the receipt')
      .option('--confirm-uncertain', 'though it was sent, and may have had its effect already')
      .option('--approval <token>', 'a new approval of such a one, of the class external')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n' +
        '  $ waybill deliveries replay 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa --reason "target repaired"\n',
    )
    .action(replay);
}

async function replay(deliveryId: string, options: ReplayOptions): Promise<void> {
  const api = await openApi(options);
  const { reason, confirmUncertain = false, approval } = options;
  const accepted = await api.replay(deliveryId, reason, {
    confirmUncertain,
    ...(approval === undefined ? {} : { approval }),
  });
  if (options.json) {
    printJson(accepted);
    return;
  }
  const said = accepted.outcome === 'replayed' ? 'is replayed' : 'is being replayed already';
  printLine(`${accepted.deliveryId} ${said}: series ${accepted.series} of its attempts`);
  printLine(`see \`waybill deliveries show ${accepted.deliveryId}\``);
}
