/** The database's clock, for decisions that are made outside a statement. */
import { z } from 'zod';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const clockStatements = {
  now: {
    name: 'clock_now',
    text: 'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms',
  },
} as const satisfies Record<string, Statement>;

/** The database's time in milliseconds since the epoch. */
export async function databaseNowMs(db: Database): Promise<number> {
  const rows = await db.query(clockStatements.now, []);
  return z.number().parse(onlyRow(rows)['now_ms']);
}
