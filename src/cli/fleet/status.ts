/** `waybill fleet status`: the tenant's replicas, with figures of all of them. */
import { Option, type Command } from 'commander';
import { REPLICA_STATUSES, type ReplicaStatus } from '../../domain/registry-ports';
import type { Replica, TenantFleet } from '../../schemas/api-fleet';
import { openApi, withApiOptions, type ApiOptions } from '../support/api-access';
import { secondsOf } from '../support/instants';
import { printJson, printLine, printMore, terminalWidth } from '../support/output';
import { renderTable, type Column } from '../support/table';

interface StatusOptions extends ApiOptions {
  readonly status?: ReplicaStatus;
  readonly limit?: string;
  readonly cursor?: string;
  readonly json?: true;
}

export function addStatus(fleet: Command): void {
  withApiOptions(
    fleet
      .command('status')
      .description('Show the replicas with their leases, load and circuits.')
      .addOption(
        new Option('--status <status>', 'only replicas that are so').choices(REPLICA_STATUSES),
      )
      .option('--limit <count>', 'at most so many replicas, up to 200 (default: 50)')
      .option('--cursor <cursor>', 'go on where the page before ended')
      .option('--json', 'answer as JSON'),
  )
    .addHelpText('after', '\nExample:\n  $ waybill fleet status --status offline\n')
    .action(status);
}

async function status(options: StatusOptions): Promise<void> {
  const { limit, cursor, status: only } = options;
  const api = await openApi(options);
  const fleet = await api.fleetStatus({ status: only, limit, cursor });
  if (options.json) {
    printJson(fleet);
    return;
  }
  printLine(totalsLine(fleet.totals));
  if (fleet.replicas.length === 0) return;
  printLine(`\n${renderTable(COLUMNS, fleet.replicas, terminalWidth())}`);
  printMore(fleet.nextCursor);
}

function totalsLine(totals: TenantFleet['totals']): string {
  const counted = Object.entries(totals.replicas).filter(([, count]) => count > 0);
  const replicas = counted.map(([state, count]) => `${count} ${state}`).join(', ');
  return (
    `replicas: ${replicas === '' ? 'none' : replicas}; ` +
    `${totals.activeAssignments} of ${totals.capacity} places taken; ` +
    `open attempts: ${totals.openAttempts}; circuits not closed: ${totals.circuitsNotClosed}`
  );
}

const COLUMNS: readonly Column<Replica>[] = [
  { title: 'replica', value: (row) => row.replicaId },
  { title: 'instance', value: (row) => row.instanceId, optional: 2 },
  { title: 'version', value: (row) => row.version, optional: 4 },
  { title: 'status', value: (row) => row.status },
  { title: 'load', value: (row) => `${row.activeAssignments}/${row.capacity}` },
  { title: 'circuit', value: (row) => row.circuit },
  {
    title: 'lease ends',
    value: (row) => (row.leaseEndsAt === null ? '-' : secondsOf(row.leaseEndsAt)),
    optional: 1,
  },
  { title: 'incarnation', value: (row) => String(row.incarnation), optional: 3 },
];
