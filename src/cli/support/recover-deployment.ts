/** Recovering from a restore, and telling where that stands. */
import { endRecovery, recoveryStatus } from '../../db/recovery';
import type { RecoveryStatus } from '../../domain/recovery';
import type { RecoveryReport } from '../../services/recovery';
import { recoverDeployment as recover } from '../../workers/recovery';
import { operatorName } from './environment';
import { withOperations } from './operations-pool';
import { printJson, printLine, terminalWidth } from './output';
import { renderTable, type Column } from './table';

export interface RecoverOptions {
  readonly afterRestore?: true;
  readonly release?: true;
  readonly json?: true;
}

export async function recoverDeployment(options: RecoverOptions): Promise<void> {
  const { report, released, status } = await withOperations(async ({ operations, config }) => {
    const by = operatorName();
    const report = options.afterRestore ? await recover({ operations, config }, by) : null;
    const released = options.release ? await endRecovery(operations, by) : null;
    return { report, released, status: await recoveryStatus(operations) };
  });
  if (options.json) {
    printJson({ report, released, status });
    return;
  }
  if (report !== null) tellReport(report);
  if (released !== null) {
    printLine(released ? 'released: reserving and sending go on' : 'it was not recovering');
  }
  tellStatus(status);
}

function tellReport({ open, lost, unreadable }: RecoveryReport): void {
  printLine(`open actions asked about first: ${open.doubted}`);
  printLine(`open actions that were not sent since: ${open.untouched}`);
  printLine(`open actions whose route was lost: ${open.handed}`);
  printLine(`lost actions, over: ${lost.buried}; not over: ${lost.handed}`);
  for (const { tenantId, actionId } of unreadable) {
    printLine(`lost, and Temporal has forgotten what it was: ${tenantId}/${actionId}`);
  }
}

function tellStatus({ since, states, forPeople }: RecoveryStatus): void {
  printLine(
    since === null ? 'not recovering' : `recovering since ${since}: nothing is reserved or sent`,
  );
  const counts = Object.entries(states).map(([state, count]) => `${state} ${count}`);
  printLine(`open actions: ${counts.length === 0 ? 'none' : counts.join(', ')}`);
  if (forPeople.length === 0) return;
  printLine('\nfor a person:');
  printLine(renderTable(COLUMNS, forPeople, terminalWidth()));
}

const COLUMNS: readonly Column<RecoveryStatus['forPeople'][number]>[] = [
  { title: 'tenant', value: (row) => row.tenantId },
  { title: 'action', value: (row) => row.actionId },
  { title: 'reason', value: (row) => row.reason },
  { title: 'detail', value: (row) => row.detail ?? '-', wraps: true },
];
