/** `waybill replay show`: everything about one job, as a page for people. */
import type { Command } from 'commander';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { bulkReplayPage } from '../support/bulk-replay-page';
import { printJson, printLine, terminalWidth } from '../support/output';

interface ShowOptions extends ApiOptions {
  readonly json?: true;
}

export function addShow(replay: Command): void {
  withApiOptions(
    replay
      .command('show')
      .description('Show one job: its plan, how far it is, and what came of it.')
      .argument('<job>', 'the job id')
      .option('--json', 'answer as JSON, with the signed receipt'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill replay show 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa\n',
    )
    .action(show);
}

async function show(jobId: string, options: ShowOptions): Promise<void> {
  const api = await openApi(options);
  const job = await api.replays.show(jobId);
  if (options.json) printJson(job);
  else printLine(bulkReplayPage(job, terminalWidth()));
}
