/**
 * What a bulk replay says of itself in the Temporal UI: how far it is, what it waits for, and what to
 * do. Markdown; no payload, no secret, no address.
 */
import type { BulkReplayCounts, BulkReplayStep } from './bulk-replays';

type Step<Kind extends BulkReplayStep['kind']> = Extract<BulkReplayStep, { kind: Kind }>;

export function bulkReplayDetails(step: BulkReplayStep, jobId: string): string {
  switch (step.kind) {
    case 'planning':
      return `**Planning**: ${step.counts.planned} deliveries so far.`;
    case 'planned':
      return (
        `**Planned**: ${many(step.counts.planned)}. Look at the plan with ` +
        `\`waybill replay show ${jobId}\`; then send this workflow the signal \`run\` with the input ` +
        `\`{"by": "your name"}\`, or run \`waybill replay run ${jobId}\`.`
      );
    case 'running':
      return `**Running**: ${countsText(step.counts)}. ${waitText(step)}`;
    case 'paused':
      return (
        `**Paused** by ${step.by}${step.why === null ? '' : `: ${step.why}`}. ` +
        `${countsText(step.counts)}. Send the signal \`resume\` or \`cancel\`, or run ` +
        `\`waybill replay resume ${jobId}\`. What was replayed before goes on meanwhile.`
      );
    case 'over':
      return `**${step.state === 'finished' ? 'Finished' : 'Cancelled'}**: ${countsText(step.counts)}.`;
    case 'unknown_job':
      return 'There is no such job (any more).';
  }
}

/** All counts in one line; those that are nothing are left out. */
export function countsText(counts: BulkReplayCounts): string {
  const skipped = Object.entries(counts.skipped).map(([why, count]) => `${count} skipped (${why})`);
  return [
    `${counts.replayed} of ${counts.planned} replayed`,
    `${counts.acknowledged} acknowledged`,
    ...(counts.failedAgain === 0 ? [] : [`${counts.failedAgain} failed again`]),
    ...(counts.open === 0 ? [] : [`${counts.open} under way`]),
    ...skipped,
    ...(counts.left === 0 ? [] : [`${counts.left} left`]),
  ].join(', ');
}

function waitText({ full, held, counts }: Step<'running'>): string {
  if (counts.left === 0) return 'Waits for what is under way.';
  const waits = [
    ...(full.length === 0 ? [] : [`until ${names(full)} has dealt with what it was given`]),
    ...(held.length === 0 ? [] : [`until ${names(held)} takes deliveries again`]),
  ];
  const text = waits.length === 0 ? '' : `Waits ${waits.join(', and ')}. `;
  return `${text}Signals: \`pause\`, \`cancel\`.`;
}

/** So many are named; a page is no list. */
const NAMED = 5;

function names(all: readonly string[]): string {
  const shown = all.slice(0, NAMED).map((name) => `\`${name}\``);
  const more = all.length - shown.length;
  return shown.join(', ') + (more === 0 ? '' : ` and ${more} more`);
}

function many(count: number): string {
  return count === 1 ? '1 delivery' : `${count} deliveries`;
}
