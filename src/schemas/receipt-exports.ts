/**
 * An export of a tenant's receipts, a JSON object a line: checkpoints with their leaves; chains, and after
 * each block of them how far they go; checkpoints that were appended meanwhile; the signed statement.
 */
import { z } from 'zod';

/** Subject, sequence number and digest of a chain's head. */
const Head = z
  .tuple([z.string(), z.int().positive(), z.string()])
  .transform(([subject, seq, digest]) => ({ subject, seq, digest }));

const Checkpoint = z.strictObject({ checkpoint: z.string(), leaves: z.array(Head).optional() });
const Chain = z.strictObject({ chain: z.string(), receipts: z.array(z.string()) });
const Heads = z.strictObject({ heads: z.array(Head) });
const Statement = z.strictObject({ statement: z.string() });

export type CheckpointLine = z.output<typeof Checkpoint>;
export type ChainLine = z.output<typeof Chain>;
export type HeadsLine = z.output<typeof Heads>;

export type ExportLine =
  | ({ readonly kind: 'checkpoint' } & CheckpointLine)
  | ({ readonly kind: 'chain' } & ChainLine)
  | ({ readonly kind: 'heads' } & HeadsLine)
  | { readonly kind: 'statement'; readonly statement: string };

/** One line of an export; null: it is none. */
export function parseExportLine(text: string): ExportLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const checkpoint = Checkpoint.safeParse(value);
  if (checkpoint.success) return { kind: 'checkpoint', ...checkpoint.data };
  const chain = Chain.safeParse(value);
  if (chain.success) return { kind: 'chain', ...chain.data };
  const heads = Heads.safeParse(value);
  if (heads.success) return { kind: 'heads', ...heads.data };
  const statement = Statement.safeParse(value);
  return statement.success ? { kind: 'statement', ...statement.data } : null;
}
