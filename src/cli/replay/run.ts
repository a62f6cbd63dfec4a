/** `waybill replay run`: lets a planned job run, and follows it where that is wished. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';
import { watchReplay } from '../support/watch-replay';

interface RunOptions extends ApiOptions {
  readonly watch?: true;
  readonly json?: true;
}

export function addRun(replay: Command): void {
  withApiOptions(
    replay
      .command('run')
      .description('Let a planned job run.')
      .argument('<job>', 'the job id')
      .option('--watch', 'show how far it is until it is over')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill replay run 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa --watch\n',
    )
    .action(run);
}

async function run(jobId: string, options: RunOptions): Promise<void> {
  const api = await openApi(options);
  const job = await api.replays.move(jobId, 'run');
  if (options.watch) await watchReplay(api, jobId, { json: options.json ?? false });
  else if (options.json) printJson(job);
  else printLine(`${jobId} is ${job.state}; see \`waybill replay watch ${jobId}\``);
}
