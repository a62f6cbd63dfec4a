/** A chain of receipts as a table for people. */
import type { ReceiptEntry } from '../../schemas/api-receipts';
import { table } from './sections';
import type { Column } from './table';

/** Empty where there is none. */
export function receiptTable(receipts: readonly ReceiptEntry[], width: number): string {
  return table(COLUMNS, receipts, width);
}

const COLUMNS: readonly Column<ReceiptEntry>[] = [
  { title: 'seq', value: (row) => String(row.seq) },
  { title: 'kind', value: (row) => row.kind },
  { title: 'at', value: (row) => row.createdAt },
  { title: 'digest', value: (row) => row.digest.slice(0, 16) },
];
