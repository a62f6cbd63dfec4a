/** `waybill replay plan`: which deliveries would be replayed, and how long that takes. */
import { InvalidArgumentError, type Command } from 'commander';
import {
  DEFAULT_RATE_PER_SECOND,
  MAX_RATE_PER_SECOND,
  type BulkReplay,
  type PlanReplayBody,
} from '../../schemas/api-bulk-replays';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { parseSince } from '../support/instants';
import { printJson, printLine, terminalWidth } from '../support/output';
import { bulkReplayPage } from '../support/bulk-replay-page';
import { followReplay } from '../support/follow-replay';

interface PlanOptions extends ApiOptions {
  readonly connector?: string;
  readonly subscription?: string;
  readonly event?: string;
  readonly failedWith?: string;
  readonly since?: string;
  readonly until?: string;
  readonly reason: string;
  readonly rate?: number;
  readonly json?: true;
}

export function addPlan(replay: Command): void {
  withApiOptions(
    replay
      .command('plan')
      .description('Plan the replay of all failed deliveries that match; replays nothing yet.')
      .option('--connector <id>', 'of this connector')
      .option('--subscription <id>', 'of this subscription')
      .option('--event <type>', 'of this event type, as the vendor calls it')
      .option('--failed-with <reason>', 'that failed for this reason, such as status_refused')
      .option('--since <when>', 'received since: 15m, 2h, 7d ago, or an instant', parseSince)
      .option('--until <when>', 'received before: 15m, 2h, 7d ago, or an instant', parseSince)
      .requiredOption('--reason <text>', 'why they are replayed, for audit log and receipts')
      .option(
        '--rate <count>',
        `so many a second to one target, up to ${MAX_RATE_PER_SECOND} (default: ${DEFAULT_RATE_PER_SECOND})`,
        parseRate,
      )
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nExample:\n  $ waybill replay plan --connector github --since 6h --reason "target repaired"\n',
    )
    .action(plan);
}

async function plan(options: PlanOptions): Promise<void> {
  const api = await openApi(options);
  const made = await api.replays.plan(wishOf(options));
  const planned = await followReplay(api, made.jobId, isPlanned, () => undefined);
  if (options.json) {
    printJson(planned);
    return;
  }
  printLine(bulkReplayPage(planned, terminalWidth()));
  printLine(`\nnothing is replayed yet: \`waybill replay run ${planned.jobId} --watch\``);
}

function isPlanned({ state }: BulkReplay): boolean {
  return state !== 'planning';
}

function wishOf(options: PlanOptions): PlanReplayBody {
  const { connector, subscription, event, failedWith, since, until, reason, rate } = options;
  return {
    filter: {
      ...(connector === undefined ? {} : { connector }),
      ...(subscription === undefined ? {} : { subscription }),
      ...(event === undefined ? {} : { eventType: event }),
      ...(failedWith === undefined ? {} : { reason: failedWith }),
      ...(since === undefined ? {} : { receivedFrom: since }),
      ...(until === undefined ? {} : { receivedTo: until }),
    },
    reason,
    ...(rate === undefined ? {} : { ratePerSecond: rate }),
  };
}

function parseRate(text: string): number {
  const rate = Number(text);
  if (Number.isInteger(rate) && rate >= 1 && rate <= MAX_RATE_PER_SECOND) return rate;
  throw new InvalidArgumentError(`Write a whole number from 1 to ${MAX_RATE_PER_SECOND}.`);
}
