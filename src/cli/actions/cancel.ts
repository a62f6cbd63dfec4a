/** `waybill actions cancel`: ends an action, or asks its host to stop. */
import type { Command } from 'commander';
import type { CancelAnswer } from '../../schemas/api-actions';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { CommandFailure } from '../support/failures';
import { printJson, printLine } from '../support/output';

interface CancelOptions extends ApiOptions {
  readonly reason: string;
  readonly json?: true;
}

export function addCancel(actions: Command): void {
  withApiOptions(
    actions
      .command('cancel')
      .description('Cancel an action; one that is being carried out is asked to stop.')
      .argument('<action>', 'the action id')
      .requiredOption('--reason <text>', 'why, for the record')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill actions cancel order-1138 --reason "ordered twice"\n',
    )
    .action(cancel);
}

async function cancel(actionId: string, options: CancelOptions): Promise<void> {
  const api = await openApi(options);
  const answered = await api.cancelAction(actionId, options.reason);
  const { decision, action } = answered;
  if (options.json) printJson(answered);
  if (decision === 'too_late') {
    const message = `${action.actionId} cannot be cancelled: it is ${action.state}`;
    throw new CommandFailure('cancel_too_late', message);
  }
  if (!options.json) printLine(said(decision, action));
}

function said(
  decision: Exclude<CancelAnswer['decision'], 'too_late'>,
  { actionId, state }: CancelAnswer['action'],
): string {
  switch (decision) {
    case 'cancelled':
      return `${actionId} is cancelled`;
    case 'requested':
      return `${actionId} is asked to stop; see \`waybill actions show ${actionId}\``;
    case 'needs_operator':
      return `${actionId} waits for an operator, who sees the wish and decides`;
    case 'already':
      return `${actionId} was asked to stop before: it is ${state}`;
  }
}
