/** `waybill deliveries readmit`: new deliveries of rejected ones, after a secret was corrected. */
import type { Command } from 'commander';
import { WaybillError } from '../../domain/errors';
import type { DeliverySummary } from '../../schemas/api-deliveries';
import type { Readmitted } from '../../schemas/api-readmissions';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import type { ApiClient } from '../support/api-client';
import { CommandFailure } from '../support/failures';
import { parseSince } from '../support/instants';
import { printJson, printLine, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface ReadmitOptions extends ApiOptions {
  readonly subscription?: string;
  readonly since?: string;
  readonly reason: string;
  readonly json?: true;
}

/** What became of one rejected delivery. */
interface Tried {
  readonly rejected: string;
  readonly outcome: Readmitted['outcome'] | 'refused';
  /** The new delivery; null where there is none. */
  readonly deliveryId: string | null;
  /** Why it was refused; null: it was not. */
  readonly why: string | null;
}

const PAGE = '200';

export function addReadmit(deliveries: Command): void {
  withApiOptions(
    deliveries
      .command('readmit')
      .description('Make new deliveries of rejected ones, after their secret was corrected.')
      .argument('[delivery...]', 'their delivery ids; or --subscription for all that mismatched')
      .option('--subscription <id>', "all of this subscription's with a signature that mismatched")
      .option(
        '--since <when>',
        'of those, received since: 15m, 2h, 7d ago, or an instant',
        parseSince,
      )
      .requiredOption('--reason <text>', 'why, for the audit log')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText(
      'after',
      '\nEach is judged by its stored bytes, as of its receipt. Exits with 1 when one stays refused.\n' +
        '\nExample:\n' +
        '  $ waybill deliveries readmit --subscription issues --since 2h --reason "secret corrected"\n',
    )
    .action(readmit);
}

async function readmit(ids: readonly string[], options: ReadmitOptions): Promise<void> {
  const api = await openApi(options);
  const rejected = ids.length > 0 ? ids : await mismatched(api, options);
  const tried: Tried[] = [];
  for (const id of rejected) tried.push(await tryOne(api, id, options.reason));
  if (options.json) printJson({ readmitted: tried });
  else if (tried.length === 0) printLine('no rejected delivery matches');
  else printLine(renderTable(COLUMNS, tried, terminalWidth()));
  const refused = tried.filter(({ outcome }) => outcome === 'refused').length;
  if (refused > 0) {
    throw new CommandFailure('not_readmitted', `${refused} of ${tried.length} stay refused`);
  }
}

/** Oldest first, so that what follows keeps the vendor's order as far as it can. */
async function mismatched(api: ApiClient, options: ReadmitOptions): Promise<string[]> {
  const { subscription, since } = options;
  if (subscription === undefined) {
    const remedy = 'name deliveries, or a subscription with --subscription';
    throw new WaybillError('config_invalid', remedy, { field: 'subscription' });
  }
  const query = {
    ...({ subscription, limit: PAGE, state: 'Rejected', reason: 'signature_mismatch' } as const),
    ...(since === undefined ? {} : { receivedFrom: since }),
  };
  const found: DeliverySummary[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page = await api.list(cursor === '' ? query : { ...query, cursor });
    found.push(...page.deliveries);
    cursor = page.nextCursor;
  }
  return found.map(({ deliveryId }) => deliveryId).reverse();
}

async function tryOne(api: ApiClient, rejected: string, reason: string): Promise<Tried> {
  try {
    return { rejected, ...(await api.readmit(rejected, reason)), why: null };
  } catch (error) {
    if (!(error instanceof WaybillError) || !ABOUT_ONE.has(error.code)) throw error;
    return { rejected, outcome: 'refused', deliveryId: null, why: error.message };
  }
}

/** What concerns one of them and not the others. */
const ABOUT_ONE: ReadonlySet<string> = new Set([
  ...['not_found', 'delivery_not_rejected', 'rejected_bytes_gone', 'readmission_refused'],
  ...['unknown_ingress', 'ingress_gone'],
]);

const COLUMNS: readonly Column<Tried>[] = [
  { title: 'rejected', value: (row) => row.rejected },
  { title: 'outcome', value: (row) => row.outcome },
  { title: 'delivery', value: (row) => row.deliveryId ?? '-' },
  { title: 'why', value: (row) => row.why ?? '', wraps: true },
];
