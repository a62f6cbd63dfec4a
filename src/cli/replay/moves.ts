/** `waybill replay pause`, `resume` and `cancel`. */
import type { Command } from 'commander';
import type { BulkReplayMove } from '../../domain/bulk-replays';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { printJson, printLine } from '../support/output';

interface MoveOptions extends ApiOptions {
  readonly reason?: string;
  readonly json?: true;
}

const MOVES: readonly (readonly [move: Exclude<BulkReplayMove, 'run'>, does: string])[] = [
  ['pause', 'Pause a running job; what it has replayed goes on.'],
  ['resume', 'Let a paused job go on.'],
  ['cancel', 'End a job; what it has replayed goes on, and what is left stays failed.'],
];

export function addMoves(replay: Command): void {
  for (const [move, does] of MOVES) {
    withApiOptions(
      replay
        .command(move)
        .description(does)
        .argument('<job>', 'the job id')
        .option('--reason <text>', 'why, for the audit log')
        .option('--json', 'answer as JSON'),
    )
      .addHelpText(
        'after',
        `\nExample:\n  $ waybill replay ${move} 019b2f6c-8f9e-7cc3-a1b7-64d6b5f2c1aa\n`,
      )
      .action(async (jobId: string, options: MoveOptions) => {
        const api = await openApi(options);
        const job = await api.replays.move(jobId, move, options.reason);
        if (options.json) printJson(job);
        else printLine(`${jobId} is ${job.state}; see \`waybill replay show ${jobId}\``);
      });
  }
}
