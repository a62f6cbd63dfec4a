/**
 * Checkpoints: what is attested of a tenant's chains of receipts, each naming the digest of the one
 * before (docs/architecture, "Checkpoints").
 */

/** How far a chain went. */
export interface ChainHead {
  /** delivery/<id> or action/<id>. */
  readonly subject: string;
  readonly seq: number;
  /** Of the receipt with that sequence number. */
  readonly digest: string;
}

interface CheckpointEnvelope {
  readonly iss: 'waybill';
  readonly v: 1;
  readonly tenant: string;
  /** From 1, without a gap. */
  readonly no: number;
  /** SHA-256 (hex) of the previous checkpoint's compact JWS; null for the first. */
  readonly prev: string | null;
  /** ISO 8601 instant. */
  readonly at: string;
}

/** These chains were closed, and went so far. */
export interface ChainsCheckpoint extends CheckpointEnvelope {
  readonly kind: 'chains';
  readonly chains: number;
  /** Merkle root over their heads, in the order of the checkpoint's leaves. */
  readonly root: string;
}

/** Retention has removed the checkpoints up to this one, and the chains that ended with them. */
export interface PrunedCheckpoint extends CheckpointEnvelope {
  readonly kind: 'pruned';
  readonly through: number;
  /** Of the checkpoint with that number. */
  readonly throughDigest: string;
}

export type CheckpointPayload = ChainsCheckpoint | PrunedCheckpoint;

/** What an export says of itself: exactly these chains, up to there, and these checkpoints. */
export interface ExportPayload {
  readonly iss: 'waybill';
  readonly v: 1;
  readonly tenant: string;
  readonly at: string;
  readonly chains: number;
  /** Merkle root over the heads of its chains, in its order. */
  readonly root: string;
  /** The chains of checkpoints up to this one must be in it, unless they were pruned. */
  readonly asOf: number;
  /** The newest checkpoint; null: there is none. */
  readonly head: { readonly no: number; readonly digest: string } | null;
}
