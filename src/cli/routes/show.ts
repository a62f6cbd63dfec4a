/** `waybill routes show`: the assignment of one action, as a page for people. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine, terminalWidth } from '../support/output';
import { routePage } from '../support/route-page';

interface ShowOptions extends ApiOptions {
  readonly json?: true;
}

export function addShow(routes: Command): void {
  withApiOptions(
    routes
      .command('show')
      .description('Show where one action went, and each attempt.')
      .argument('<action>', 'the action id')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill routes show order-1138\n')
    .action(show);
}

async function show(actionId: string, options: ShowOptions): Promise<void> {
  const api = await openApi(options);
  const route = await api.showRoute(actionId);
  if (options.json) printJson(route);
  else printLine(routePage(route, terminalWidth()));
}
