/** The driver alone: a pool as the product's is, and nothing between it and the caller. */
import { Pool } from 'pg';
import { POOL_SIZE } from '../deployment';
import { sqlHands, type Hands } from './hands';
import type { Site } from './shapes';

export interface BareHands {
  readonly hands: Hands;
  readonly close: () => Promise<void>;
}

export function bareHands({ database }: Site): BareHands {
  const pool = new Pool({
    connectionString: database.url,
    options: '-c role=waybill_data',
    max: POOL_SIZE,
  });
  // One that breaks fails the next statement, not the process.
  pool.on('error', () => undefined);
  return {
    hands: sqlHands(async (statement, values) => {
      const { name, text } = statement;
      const { rows } = await pool.query<Record<string, unknown>>({
        name,
        text,
        values: [...values],
      });
      return rows;
    }),
    close: () => pool.end(),
  };
}
