/** `waybill replay watch`: how far a job is, until it is over; then its receipt. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { watchReplay } from '../support/watch-replay';

interface WatchOptions extends ApiOptions {
  readonly json?: true;
}

export function addWatch(replay: Command): void {
  withApiOptions(
    replay
      .command('watch')
      .description('Show how far a job is until it is over, paused or only planned.')
      .argument('<job>', 'the job id')
      .option('--json', 'answer as JSON when it is over'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill replay watch 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa\n',
    )
    .action(watch);
}

async function watch(jobId: string, options: WatchOptions): Promise<void> {
  await watchReplay(await openApi(options), jobId, { json: options.json ?? false });
}
