/** `waybill actions repin`: takes a pinned action from a host that cannot serve it. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';

interface RepinOptions extends ApiOptions {
  readonly reason: string;
  readonly json?: true;
}

export function addRepin(actions: Command): void {
  withApiOptions(
    actions
      .command('repin')
      .description('Move an action to another host; refused unless nothing of it has begun.')
      .argument('<action>', 'the action id')
      .requiredOption('--reason <text>', 'why, for the record')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill actions repin order-1138 --reason "its host is gone for good"\n',
    )
    .action(repin);
}

async function repin(actionId: string, options: RepinOptions): Promise<void> {
  const api = await openApi(options);
  const answered = await api.repinAction(actionId, options.reason);
  if (options.json) {
    printJson(answered);
    return;
  }
  const when = answered.decision === 'already' ? ' before' : '';
  printLine(`${actionId} was taken from its host${when}; its next reservation chooses anew`);
}
