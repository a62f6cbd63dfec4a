/**
 * Checkpoints over the chains of each tenant, and the removal of receipts whose time is over
 * (docs/architecture, "Checkpoints"). What is read, signed and written comes in that order, so that
 * nothing is open while something is signed; who finds that another was faster begins again.
 */
import {
  appendCheckpoint,
  chainsToCheckpoint,
  pruneReceipts,
  receiptTenants,
  receiptsToPrune,
} from '../db/checkpoints';
import type { Database } from '../db/database';
import { point } from '../points';
import type { SigningKey } from '../signing/keys';
import { MerkleRoot } from '../signing/receipts/merkle';
import { receiptDigest } from '../signing/receipts/sign';
import { leafOf, signCheckpoint } from '../signing/receipts/statements';
import { forTenants, inBatches } from './batches';

export interface CheckpointServices {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly signingKey: SigningKey;
}

/** Chains of one checkpoint: what one transaction writes down, or retention removes, at once. */
export const CHAINS_A_CHECKPOINT = 250;
/** What one removal takes with it. */
const CHECKPOINTS_A_REMOVAL = 4;

/** Writes down every closed chain that no checkpoint has yet; appends wait for none of it. */
export async function checkpointReceipts(
  services: CheckpointServices,
  signal: AbortSignal,
): Promise<{ readonly checkpoints: number; readonly more: boolean }> {
  let checkpoints = 0;
  const more = await untilNothingIsLeft(services.operations, signal, async (tenant) => {
    const chains = await checkpointOnce(services, tenant);
    if (chains > 0) checkpoints += 1;
    return chains === CHAINS_A_CHECKPOINT;
  });
  return { checkpoints, more };
}

/** Removes receipts that are older than they are kept, each removal with a checkpoint that says so. */
export async function removeReceipts(
  services: CheckpointServices,
  signal: AbortSignal,
): Promise<{ readonly receipts: number; readonly more: boolean }> {
  let receipts = 0;
  const more = await untilNothingIsLeft(services.operations, signal, async (tenant) => {
    const gone = await removeOnce(services, tenant);
    receipts += gone ?? 0;
    return gone !== null;
  });
  return { receipts, more };
}

/** How many chains it has; 0: none waited, or another one was faster. */
export async function checkpointOnce(
  { operations, signingKey }: CheckpointServices,
  tenant: string,
): Promise<number> {
  const { no, previousDigest, now, leaves } = await chainsToCheckpoint(
    operations,
    tenant,
    CHAINS_A_CHECKPOINT,
  );
  if (leaves.length === 0) return 0;
  await point('checkpoint.read');
  const tree = new MerkleRoot();
  for (const leaf of leaves) tree.add(leafOf(leaf));
  const jws = await signCheckpoint(
    {
      ...envelope(tenant, no, previousDigest, now),
      kind: 'chains',
      chains: leaves.length,
      root: tree.root(),
    },
    signingKey,
  );
  const checkpoint = { no, jws, digest: receiptDigest(jws) };
  const appended = await appendCheckpoint(operations, tenant, checkpoint, leaves);
  await point('checkpoint.appended');
  return appended ? leaves.length : 0;
}

/** How many receipts went; null: none were due, or another one was faster. */
async function removeOnce(
  { operations, signingKey }: CheckpointServices,
  tenant: string,
): Promise<number | null> {
  const found = await receiptsToPrune(operations, tenant, CHECKPOINTS_A_REMOVAL);
  if (found === null) return null;
  await point('removal.read');
  const { no, previousDigest, now, through, throughDigest } = found;
  const jws = await signCheckpoint(
    { ...envelope(tenant, no, previousDigest, now), kind: 'pruned', through, throughDigest },
    signingKey,
  );
  const checkpoint = { no, jws, digest: receiptDigest(jws) };
  const gone = await pruneReceipts(operations, tenant, through, checkpoint);
  await point('removal.done');
  return gone;
}

function envelope(tenant: string, no: number, prev: string | null, now: string) {
  return { iss: 'waybill', v: 1, tenant, no, prev, at: new Date(now).toISOString() } as const;
}

/** Each tenant until nothing is left of its work; whether there may be more. */
function untilNothingIsLeft(
  operations: Database,
  signal: AbortSignal,
  once: (tenant: string) => Promise<boolean>,
): Promise<boolean> {
  return forTenants(
    (after, limit) => receiptTenants(operations, after, limit),
    signal,
    (tenant) => inBatches(signal, () => once(tenant)),
  );
}
