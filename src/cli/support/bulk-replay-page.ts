/** One bulk replay as a page for people. */
import type { BulkReplay } from '../../schemas/api-bulk-replays';
import { secondsOf } from './instants';
import { facts, page, table, titled } from './sections';
import type { Column } from './table';

type Sample = BulkReplay['sample'][number];

/** @param width columns of the terminal; infinite where a program reads */
export function bulkReplayPage(job: BulkReplay, width: number): string {
  return page([
    facts([
      ['job', job.jobId],
      ['state', stateText(job)],
      ['what', filterText(job)],
      ['reason', job.reason],
      ['planned', plannedText(job)],
      ['oldest', job.oldestAt ?? ''],
      ['newest', job.newestAt ?? ''],
      ['rate', `${job.ratePerSecond} a second to one target`],
      ['takes', job.left === 0 ? '' : `about ${durationText(job.estimatedMs)}`],
      ['made', `${job.createdAt} by ${job.requestedBy}`],
      ['run', job.startedAt === null ? '' : `${job.startedAt} by ${job.runBy ?? '?'}`],
      ['Temporal', job.workflowUrl ?? job.workflowId],
    ]),
    job.startedAt === null ? '' : titled('so far', receiptText(job)),
    titled('the oldest of them', table(SAMPLE, job.sample, width)),
  ]);
}

/** What has come of it: how many of what was planned, and why not the others. */
export function receiptText(job: BulkReplay): string {
  return facts([
    ['planned', String(job.planned)],
    ['replayed', String(job.replayed)],
    ['acknowledged', String(job.acknowledged)],
    ['failed again', String(job.failedAgain)],
    ['under way', job.open === 0 ? '' : String(job.open)],
    ...Object.entries(job.skipped).map(([why, count]): [string, string] => [
      `skipped, ${SKIPPED[why] ?? why}`,
      String(count),
    ]),
    ['left', job.left === 0 ? '' : String(job.left)],
    ['receipt', job.receipt === null ? '' : 'signed; see --json'],
  ]);
}

const SKIPPED: Readonly<Record<string, string>> = {
  acknowledged: 'acknowledged meanwhile',
  under_way: 'under way by another replay',
  failed_anew: 'failed anew since the plan',
  removed: 'removed meanwhile',
};

const SAMPLE: readonly Column<Sample>[] = [
  { title: 'delivery', value: (row) => row.deliveryId },
  { title: 'event', value: (row) => row.eventType },
  { title: 'subscription', value: (row) => row.subscriptionId, optional: 2 },
  { title: 'received', value: (row) => secondsOf(row.receivedAt), optional: 1 },
  { title: 'failed with', value: (row) => row.reason ?? '' },
];

function stateText({ state, movedBy, movedWhy }: BulkReplay): string {
  if (movedBy === null) return state;
  return `${state} by ${movedBy}${movedWhy === null ? '' : `: ${movedWhy}`}`;
}

function filterText({ filter }: BulkReplay): string {
  const parts = Object.entries(filter).map(([name, value]) => `${name} ${value}`);
  return parts.length === 0 ? 'all that has failed' : parts.join(', ');
}

function plannedText({ planned, truncated }: BulkReplay): string {
  return truncated ? `${planned}; more match: plan again when this one is over` : String(planned);
}

/** So that people can plan with it: two units at most. */
export function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
