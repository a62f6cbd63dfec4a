/** Recounting what is reserved, and telling what differs. */
import type { CounterDifference } from '../../domain/upkeep';
import { auditCounters, repairCounters, type CounterAudit } from '../../services/upkeep';
import { operatorName } from './environment';
import { CommandFailure } from './failures';
import { withOperations } from './operations-pool';
import { printJson, printLine, terminalWidth } from './output';
import { renderTable, type Column } from './table';

export async function auditRoutes(options: {
  readonly repair?: true;
  readonly json?: true;
}): Promise<void> {
  const repaired = options.repair === true;
  const audit = await withOperations(({ operations }) =>
    repaired ? repairCounters(operations, operatorName()) : auditCounters(operations),
  );
  if (options.json) printJson({ ...audit, repaired });
  else tell(audit, repaired);
  if (audit.differences.length > 0 && !repaired) {
    const count = audit.differences.length;
    const what = count === 1 ? '1 counter differs' : `${count} counters differ`;
    throw new CommandFailure('counters_differ', `${what}; --repair mends that`);
  }
}

function tell({ differences, more }: CounterAudit, repaired: boolean): void {
  if (differences.length === 0) {
    printLine('every counter is what the open attempts make it');
    return;
  }
  printLine(renderTable(COLUMNS, differences, terminalWidth()));
  if (repaired) printLine(`\nmended: ${differences.length}`);
  if (more) printLine('\nthere may be more: run it again');
}

const COLUMNS: readonly Column<CounterDifference>[] = [
  { title: 'counter', value: (row) => row.counter },
  { title: 'scope', value: (row) => row.scope ?? 'replica' },
  { title: 'of', value: (row) => row.subject },
  { title: 'tenant', value: (row) => row.tenantId ?? '-', optional: 1 },
  { title: 'recorded', value: (row) => String(row.recorded) },
  { title: 'counted', value: (row) => String(row.counted) },
];
