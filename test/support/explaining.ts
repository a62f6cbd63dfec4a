/** What Postgres says of a statement that it has run. */
import type { Run } from '../../src/db/database';

export interface Explained {
  /** How many rows it answered. */
  readonly rows: number;
  /** Of 8 kB each, wherever they were found. */
  readonly blocks: number;
  /** As Postgres told it, for people. */
  readonly plan: unknown;
}

interface Plan {
  readonly 'Actual Rows': number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
}

export async function explain(
  run: Run,
  text: string,
  values: readonly unknown[],
): Promise<Explained> {
  const statement = { name: '', text: `explain (analyze, buffers, format json) ${text}` };
  const [row] = await run(statement, values);
  const [plan] = row?.['QUERY PLAN'] as readonly { readonly Plan: Plan }[];
  if (plan === undefined) throw new Error('no plan');
  const { 'Actual Rows': rows, 'Shared Hit Blocks': hit, 'Shared Read Blocks': read } = plan.Plan;
  return { rows, blocks: hit + read, plan };
}
