/**
 * A tenant's receipts as one file that can be checked offline (docs/architecture, "Checkpoints"). It is read
 * page by page, each page a moment of its own, so that nobody waits for a reader; what is appended or removed
 * meanwhile is told apart by the checkpoints that come after.
 */
import { checkpointsAfter, receiptsAfter, type ReceiptPlace } from '../db/receipt-lists';
import type { Database } from '../db/database';
import type { ChainHead } from '../domain/checkpoints';
import type { TenantId } from '../domain/ids';
import type { StoredCheckpoint } from '../schemas/checkpoint-rows';
import type { SigningKey } from '../signing/keys';
import { MerkleRoot } from '../signing/receipts/merkle';
import { receiptDigest } from '../signing/receipts/sign';
import { leafOf, signExport } from '../signing/receipts/statements';

export interface ExportServices {
  /** Role waybill_data. */
  readonly data: Database;
  readonly signingKey: SigningKey;
  /** Now, in ms since the epoch, for people who read the statement. */
  readonly nowMs: () => number;
}

const RECEIPTS_A_PAGE = 500;
const CHECKPOINTS_A_PAGE = 20;

/** The lines of the export, each with its end; see `src/schemas/receipt-exports.ts`. */
export async function* exportReceipts(
  { data, signingKey, nowMs }: ExportServices,
  tenantId: TenantId,
): AsyncGenerator<string> {
  let head: StoredCheckpoint | null = null;
  for await (const checkpoint of checkpoints(data, tenantId, 0)) {
    head = checkpoint;
    yield checkpointLine(checkpoint, true);
  }
  const asOf = head?.no ?? 0;
  const tree = new MerkleRoot();
  let count = 0;
  for await (const block of chains(data, tenantId)) {
    const heads = block.map(headOf);
    for (const { subject, receipts } of block) yield line({ chain: subject, receipts });
    yield line({ heads: heads.map(tuple) });
    for (const one of heads) tree.add(leafOf(one));
    count += heads.length;
  }
  if (count === 0) yield line({ heads: [] });
  for await (const checkpoint of checkpoints(data, tenantId, asOf)) {
    head = checkpoint;
    yield checkpointLine(checkpoint, false);
  }
  const statement = await signExport(
    {
      iss: 'waybill',
      v: 1,
      tenant: tenantId,
      at: new Date(nowMs()).toISOString(),
      chains: count,
      root: tree.root(),
      asOf,
      head: head && { no: head.no, digest: head.digest },
    },
    signingKey,
  );
  yield line({ statement });
}

async function* checkpoints(
  data: Database,
  tenantId: TenantId,
  after: number,
): AsyncGenerator<StoredCheckpoint> {
  let last = after;
  for (;;) {
    const page = await checkpointsAfter(data, tenantId, last, CHECKPOINTS_A_PAGE);
    yield* page;
    if (page.length < CHECKPOINTS_A_PAGE) return;
    last = page.at(-1)?.no ?? last;
  }
}

interface Chain {
  readonly subject: string;
  readonly receipts: string[];
  /** Of its last receipt. */
  seq: number;
}

/** Whole chains, block by block. */
async function* chains(data: Database, tenantId: TenantId): AsyncGenerator<readonly Chain[]> {
  let after: ReceiptPlace = { subject: '', seq: 0 };
  let open = null as Chain | null;
  for (;;) {
    const page = await receiptsAfter(data, tenantId, after, RECEIPTS_A_PAGE);
    const whole: Chain[] = [];
    for (const receipt of page) {
      if (open?.subject !== receipt.subject) {
        if (open !== null) whole.push(open);
        open = { subject: receipt.subject, receipts: [], seq: 0 };
      }
      open.receipts.push(receipt.jws);
      open.seq = receipt.seq;
      after = receipt;
    }
    const isLast = page.length < RECEIPTS_A_PAGE;
    if (isLast && open !== null) whole.push(open);
    if (whole.length > 0) yield whole;
    if (isLast) return;
  }
}

function headOf({ subject, receipts, seq }: Chain): ChainHead {
  return { subject, seq, digest: receiptDigest(receipts.at(-1) ?? '') };
}

function checkpointLine({ jws, leaves }: StoredCheckpoint, withLeaves: boolean): string {
  if (!withLeaves || leaves.length === 0) return line({ checkpoint: jws });
  return line({ checkpoint: jws, leaves: leaves.map(tuple) });
}

function tuple({ subject, seq, digest }: ChainHead): readonly [string, number, string] {
  return [subject, seq, digest];
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
