/** The commands that pause and resume something. */
import type { Command } from 'commander';
import type { SwitchAnswer } from '../../schemas/api-targets';
import { openApi, withApiOptions, type ApiOptions } from './api-access';
import { printJson, printLine } from './output';

interface SwitchOptions extends ApiOptions {
  readonly reason: string;
  readonly json?: true;
}

interface Switching {
  /** Of which they are commands. */
  readonly of: 'targets' | 'subscriptions';
  readonly pause: string;
  readonly resume: string;
}

/** Adds `pause` and `resume`, each with what it does, in a sentence. */
export function addSwitches(group: Command, { of, ...said }: Switching): void {
  for (const verb of ['pause', 'resume'] as const) {
    const one = of.slice(0, -1);
    withApiOptions(
      group
        .command(verb)
        .description(said[verb])
        .argument(`<${one}>`, `the ${one}'s id`)
        .requiredOption('--reason <text>', 'why, for the audit log')
        .option('--json', 'answer as JSON'),
    )
      .addHelpText('after', `\nExample:\n  $ waybill ${of} ${verb} hook --reason "maintenance"\n`)
      .action(async (id: string, options: SwitchOptions) => {
        const api = await openApi(options);
        const answer = await api.switch(of, { id, verb, reason: options.reason });
        if (options.json) printJson(answer);
        else printLine(sentence(one, answer));
      });
  }
}

function sentence(one: string, { id, paused, outcome }: SwitchAnswer): string {
  const state = paused ? 'paused' : 'not paused';
  if (outcome === 'unchanged') return `${one} ${id} was ${state} before: nothing has changed`;
  return paused
    ? `${one} ${id} is paused: its deliveries are accepted and wait`
    : `${one} ${id} is resumed: what waited goes out at its drain rate`;
}
