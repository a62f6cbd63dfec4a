/** `waybill actions show`: everything about one action, as a page for people. */
import type { Command } from 'commander';
import { actionPage } from '../support/action-page';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine, terminalWidth } from '../support/output';

interface ShowOptions extends ApiOptions {
  readonly json?: true;
}

export function addShow(actions: Command): void {
  withApiOptions(
    actions
      .command('show')
      .description('Show one action: facts, result, route, attempts.')
      .argument('<action>', 'the action id')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill actions show order-1138\n')
    .action(show);
}

async function show(actionId: string, options: ShowOptions): Promise<void> {
  const api = await openApi(options);
  const action = await api.showAction(actionId);
  if (options.json) printJson(action);
  else printLine(actionPage(action, terminalWidth()));
}
