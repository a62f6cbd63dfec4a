/** `waybill approvals approve` and `deny`: what a person decides about an action that waits for it. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';

interface DecideOptions extends ApiOptions {
  readonly reason: string;
  readonly json?: true;
}

const VERBS = {
  approve: {
    description: 'Approve an action that waits for it; whoever asked for it may not.',
    reason: 'checked with finance',
    done: 'is approved',
  },
  deny: {
    description: 'Deny an action that waits for an approval: it fails, and nothing is done.',
    reason: 'wrong amount',
    done: 'is denied',
  },
} as const;

export function addDecision(approvals: Command, verb: keyof typeof VERBS): void {
  const { description, reason, done } = VERBS[verb];
  withApiOptions(
    approvals
      .command(verb)
      .description(description)
      .argument('<action>', 'the action id')
      .requiredOption('--reason <text>', 'why, for the record')
      .option('--as <name>', 'as whom, where no WAYBILL_TOKEN says it (default: you)')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      `\nExample:\n  $ waybill approvals ${verb} refund-1138 --reason "${reason}"\n`,
    )
    .action(async (actionId: string, options: DecideOptions) => {
      const api = await openApi(options);
      const answered = await api.decideAction(actionId, verb, options.reason);
      if (options.json) printJson(answered);
      else if (answered.decision === 'already') printLine(`${actionId} ${done} already`);
      else printLine(`${actionId} ${done}`);
    });
}
