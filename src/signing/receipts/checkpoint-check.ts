/** The checkpoints of an export: each by itself, one after the other, and against the chains. */
import type {
  ChainHead,
  CheckpointPayload,
  ExportPayload,
  PrunedCheckpoint,
} from '../../domain/checkpoints';
import type { CheckpointLine } from '../../schemas/receipt-exports';
import type { ExportProblems } from './export-problems';
import { MerkleRoot } from './merkle';
import { readSigned, type KeyLookup, type SignedForm } from './read-signed';
import { receiptDigest } from './sign';
import { CheckpointPayloadSchema, checkpointType, leafOf } from './statements';

const CHECKPOINT: SignedForm<CheckpointPayload> = {
  type: checkpointType,
  schema: CheckpointPayloadSchema,
  name: 'a checkpoint',
};

interface Place {
  readonly no: number;
  readonly digest: string;
}

export class CheckpointCheck {
  readonly #keys: KeyLookup;
  readonly #problems: ExportProblems;
  readonly #leaves: { readonly no: number; readonly leaves: readonly ChainHead[] }[] = [];
  readonly #pruned: PrunedCheckpoint[] = [];
  /** Where one does not follow the one before: right only where those between were removed. */
  readonly #gaps: {
    readonly line: number;
    readonly no: number;
    readonly prev: string | null;
    /** It goes on: none stands there twice, or before one that it follows. */
    readonly isAhead: boolean;
  }[] = [];
  #last: Place | null = null;
  #asOf = 0;
  tenant: string | null = null;
  count = 0;
  isBeyondChains = false;

  constructor(keys: KeyLookup, problems: ExportProblems) {
    this.#keys = keys;
    this.#problems = problems;
  }

  /** @param isBefore no chain has come yet */
  async take({ checkpoint: jws, leaves }: CheckpointLine, isBefore: boolean): Promise<void> {
    this.count += 1;
    const reading = await readSigned(jws, this.#keys, CHECKPOINT);
    if (!reading.ok) {
      this.#problems.add(reading.code, `a checkpoint: ${reading.detail}`);
      return;
    }
    const { payload } = reading;
    const { no } = payload;
    this.tenant ??= payload.tenant;
    if (payload.tenant !== this.tenant) {
      this.#problems.add('other_tenant', `belongs to tenant ${payload.tenant}`, { checkpoint: no });
    }
    this.#follow(payload);
    this.#last = { no, digest: receiptDigest(jws) };
    if (isBefore) this.#asOf = no;
    else this.isBeyondChains = true;
    if (payload.kind === 'pruned') this.#pruned.push(payload);
    this.#judgeLeaves(payload, leaves ?? null, isBefore);
  }

  #follow({ no, prev }: CheckpointPayload): void {
    const last = this.#last;
    const follows =
      last === null ? no === 1 && prev === null : no === last.no + 1 && prev === last.digest;
    if (follows) return;
    this.#gaps.push({ line: this.#problems.line, no, prev, isAhead: no > (last?.no ?? 0) });
  }

  #judgeLeaves(
    payload: CheckpointPayload,
    leaves: readonly ChainHead[] | null,
    isBefore: boolean,
  ): void {
    const about = { checkpoint: payload.no };
    const has = payload.kind === 'chains' && isBefore;
    if (!has) {
      if (leaves === null) return;
      this.#problems.add('leaves_altered', 'leaves stand where there are none', about);
      return;
    }
    if (leaves === null) {
      this.#problems.add('leaves_missing', 'the chains of the checkpoint are missing', about);
      return;
    }
    const tree = new MerkleRoot();
    for (const leaf of leaves) tree.add(leafOf(leaf));
    if (leaves.length !== payload.chains || tree.root() !== payload.root) {
      this.#problems.add('leaves_altered', 'its chains are not those that were signed', about);
    }
    this.#leaves.push({ no: payload.no, leaves });
  }

  /** All is read: what was removed is known, and every chain. */
  end(chains: ReadonlyMap<string, readonly string[]>, statement: ExportPayload | null): void {
    const removed = new Map(this.#pruned.map((one) => [one.through, one.throughDigest]));
    for (const { line, no, prev, isAhead } of this.#gaps) {
      if (isAhead && prev !== null && removed.get(no - 1) === prev) continue;
      const detail = isAhead
        ? `checkpoint ${no} does not follow the one before: some were left out`
        : `checkpoint ${no} stands behind one that is not before it`;
      this.#problems.add('checkpoint_gap', detail, { line, checkpoint: no });
    }
    if (statement !== null) this.#compareStatement(statement);
    const through = Math.max(0, ...this.#pruned.map((one) => one.through));
    for (const { no, leaves } of this.#leaves) {
      // Their receipts may have gone while the export was read.
      if (no <= through) continue;
      for (const leaf of leaves) this.#compareLeaf(no, leaf, chains.get(leaf.subject));
    }
  }

  #compareLeaf(
    checkpoint: number,
    { subject, seq, digest }: ChainHead,
    digests: readonly string[] | undefined,
  ): void {
    const about = { checkpoint, subject };
    if (digests === undefined) {
      const detail = `the chain is missing; checkpoint ${checkpoint} has it, and it was not removed`;
      this.#problems.add('missing_chain', detail, about);
    } else if (digests.length < seq) {
      const detail = `it has ${digests.length} receipts; checkpoint ${checkpoint} has seen ${seq}`;
      this.#problems.add('chain_cut', detail, { ...about, seq: digests.length });
    } else if (digests[seq - 1] !== digest) {
      const detail = `not the receipt that checkpoint ${checkpoint} has seen`;
      this.#problems.add('chain_replaced', detail, { ...about, seq });
    }
  }

  #compareStatement({ asOf, head }: ExportPayload): void {
    const last = this.#last;
    const same =
      head === null ? last === null : last?.no === head.no && last.digest === head.digest;
    if (same && asOf === this.#asOf) return;
    const detail = 'the checkpoints are not those of the statement';
    this.#problems.add('checkpoints_cut', detail);
  }
}
