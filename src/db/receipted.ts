/**
 * Steps of an action that are written with a receipt. The database says which one is due and over which
 * head of the chain (`waybill.ask_receipt`); it is signed, and the step is written with it.
 */
import { WaybillError } from '../domain/errors';
import type { ReceiptRow, SignActionReceipt, WantedActionReceipt } from '../domain/receipts';
import { SignAnswer } from '../schemas/action-step-rows';
import type { Database, Row, Statement } from './database';
import { onlyRow } from './database';

export interface Receipting {
  /** What will be due if all goes as expected: saves asking. Null: the database is asked. */
  readonly expected: WantedActionReceipt | null;
  readonly sign: SignActionReceipt;
}

/** A chain moves only when somebody else writes to the same action: a few tries always suffice. */
const TRIES = 5;

/** @param valuesOf the statement's values with a receipt as JSON, or none */
export async function writeReceipted(
  db: Database,
  statement: Statement,
  { expected, sign }: Receipting,
  valuesOf: (receipt: string | null) => readonly unknown[],
): Promise<Row> {
  let receipt: ReceiptRow | null = expected === null ? null : await sign(expected);
  for (let attempt = 0; attempt <= TRIES; attempt += 1) {
    const values = valuesOf(receipt === null ? null : JSON.stringify(receipt));
    const row = onlyRow(await db.query(statement, values));
    const asked = SignAnswer.safeParse(row['answer']);
    if (!asked.success) return row;
    receipt = await sign(asked.data.wanted);
  }
  throw new WaybillError('internal', 'a receipt chain kept moving');
}
