/** Upkeep of a minute or slower: what its jobs do, and the contract of the workflow that runs them. */

/** What one batch of retention has removed. */
export interface RetainedBatch {
  /** Actions that became tombstones. */
  readonly actions: number;
  /** Bytes whose time had come, also those that another action has after all. */
  readonly artifacts: number;
  readonly tombstones: number;
}

/** What retention has removed of deliveries. */
export interface RetainedDeliveries {
  /** Deliveries whose payload was let go while their row stays. */
  readonly payloads: number;
  readonly deliveries: number;
}

/** What retention has removed of bulk replays. */
export interface RetainedReplays {
  /** Deliveries that they had planned, with what became of each. */
  readonly replayItems: number;
  /** Jobs with their signed statements. */
  readonly replays: number;
}

/** A counter that says something else than the open attempts do. */
export interface CounterDifference {
  readonly counter: 'active_assignments' | 'probes' | 'held';
  /** Null: shared by all tenants. */
  readonly tenantId: string | null;
  /** Of the quota; null where the counter is a replica's. */
  readonly scope: string | null;
  /** The replica, or the scope's key. */
  readonly subject: string;
  readonly recorded: number;
  readonly counted: number;
}

/** Figures only: a history holds no lists. */
export interface UpkeepActivities {
  /** Removes closed actions, bytes and tombstones whose time is over. */
  readonly retainActions: () => Promise<RetainedBatch & { readonly more: boolean }>;
  /** Recounts every counter; what differs is in the worker's log. */
  readonly auditCounters: () => Promise<{ readonly differences: number; readonly more: boolean }>;
  /** Removes dedup keys, bytes of rejected requests and events whose time is over. */
  readonly forgetExpired: () => Promise<{ readonly more: boolean }>;
  /** Removes payloads and rows of deliveries, and bulk replays, whose time is over. */
  readonly retainDeliveries: () => Promise<
    RetainedDeliveries & RetainedReplays & { readonly more: boolean }
  >;
  /** Writes down closed chains of receipts. */
  readonly checkpointReceipts: () => Promise<{
    readonly checkpoints: number;
    readonly more: boolean;
  }>;
  /** Removes receipts whose time is over. */
  readonly removeReceipts: () => Promise<{ readonly receipts: number; readonly more: boolean }>;
}

export type UpkeepJob = keyof UpkeepActivities;

/** Input of the workflow `upkeep`: one run of one job. */
export interface UpkeepInput {
  readonly job: UpkeepJob;
}
