/** Shows how far a bulk replay is: a bar in a terminal, a line now and then anywhere else. */
import { SingleBar } from 'cli-progress';
import type { BulkReplay } from '../../schemas/api-bulk-replays';
import type { ApiClient } from './api-client';
import { durationText, receiptText } from './bulk-replay-page';
import { CommandFailure } from './failures';
import { followReplay } from './follow-replay';
import { printJson, printLine } from './output';

const LINE_EVERY_MS = 10_000;

/**
 * Ends when the job is over, with its receipt, or when it waits for a person.
 * @throws CommandFailure `replay_incomplete` unless it is finished with nothing that failed again, or only planned
 */
export async function watchReplay(
  api: ApiClient,
  jobId: string,
  { json }: { readonly json: boolean },
): Promise<void> {
  const progress = process.stderr.isTTY ? barProgress() : lineProgress();
  const job = await followReplay(api, jobId, standsStill, progress.show).finally(progress.end);
  if (json) printJson(job);
  else printLine(`${jobId} is ${stateText(job)}\n\n${receiptText(job)}`);
  const { state, planned, acknowledged, failedAgain, open, left } = job;
  if (state === 'planned' || (state === 'finished' && failedAgain + open === 0)) return;
  const counts = `${acknowledged} acknowledged, ${failedAgain} failed again, ${open} under way, ${left} left`;
  throw new CommandFailure(
    'replay_incomplete',
    `the bulk replay is ${state}: of ${planned}, ${counts}`,
  );
}

/** Over, with its receipt, or it waits for somebody. */
function standsStill({ state, receipt }: BulkReplay): boolean {
  switch (state) {
    case 'planned':
    case 'paused':
      return true;
    case 'planning':
    case 'running':
      return false;
    case 'cancelled':
    case 'finished':
      return receipt !== null;
  }
}

interface Progress {
  show: (job: BulkReplay) => void;
  end: () => void;
}

function barProgress(): Progress {
  const bar = new SingleBar({
    format: '{bar} {value}/{total} dealt with, {said}',
    stream: process.stderr,
    hideCursor: true,
    clearOnComplete: true,
  });
  let started = false;
  return {
    show: (job) => {
      const said = saidOf(job);
      if (started) bar.setTotal(job.planned);
      else bar.start(job.planned, 0, { said });
      started = true;
      bar.update(dealtWith(job), { said });
    },
    end: () => {
      if (started) bar.stop();
    },
  };
}

function lineProgress(): Progress {
  let saidAt = Number.NEGATIVE_INFINITY;
  return {
    show: (job) => {
      if (performance.now() - saidAt < LINE_EVERY_MS) return;
      saidAt = performance.now();
      process.stderr.write(`${dealtWith(job)} of ${job.planned} dealt with, ${saidOf(job)}\n`);
    },
    end: () => undefined,
  };
}

/** At their end, or skipped. */
function dealtWith({ planned, left, open }: BulkReplay): number {
  return planned - left - open;
}

function saidOf(job: BulkReplay): string {
  const failed = job.failedAgain === 0 ? '' : `, ${job.failedAgain} failed again`;
  const open = job.open === 0 ? '' : `, ${job.open} under way`;
  const rest = job.left === 0 ? '' : `; about ${durationText(job.estimatedMs)} left`;
  return `${job.acknowledged} acknowledged${failed}${open}${rest}`;
}

function stateText({ state, movedBy, movedWhy }: BulkReplay): string {
  if (state === 'planned') return 'planned: let it run with `waybill replay run`';
  const by = movedBy === null ? '' : ` by ${movedBy}`;
  return `${state}${by}${movedWhy === null ? '' : `: ${movedWhy}`}`;
}
