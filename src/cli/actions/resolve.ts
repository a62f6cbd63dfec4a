/** `waybill actions resolve`: says what became of an action that needs an operator. */
import { Option, type Command } from 'commander';
import { RESOLUTIONS, type Resolution } from '../../domain/resolutions';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';

interface ResolveOptions extends ApiOptions {
  readonly outcome: Resolution['outcome'];
  readonly reason: string;
  readonly json?: true;
}

export function addResolve(actions: Command): void {
  withApiOptions(
    actions
      .command('resolve')
      .description('Say what became of an action that needs an operator, once you know.')
      .argument('<action>', 'the action id')
      .addOption(
        new Option('--outcome <outcome>', 'retry: it certainly had no effect, and is sent again')
          .choices(RESOLUTIONS)
          .makeOptionMandatory(),
      )
      .requiredOption('--reason <text>', 'how you know, for the record')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill actions resolve order-1138 --outcome completed --reason "the ticket is there"\n',
    )
    .action(resolve);
}

async function resolve(actionId: string, options: ResolveOptions): Promise<void> {
  const { outcome, reason } = options;
  const api = await openApi(options);
  const answered = await api.resolveAction(actionId, { outcome, reason });
  if (options.json) {
    printJson(answered);
    return;
  }
  const then = outcome === 'retry' ? 'is sent again' : `is ${answered.action.state}`;
  printLine(`${actionId} ${then}`);
}
