/** What a case has at hand to do its faults and to show what came of them. */
import { pollUntil } from '../../workers/embedded/poll';
import type { QualificationClient } from '../client';
import type { CaseName } from '../families/family';
import type { Fault } from '../faults';
import type { Judge } from '../judging/judge';
import type { Site } from '../site/site';
import type { Soak } from '../soak/schedule';

export type Observed = string | number | boolean;

export interface CaseContext {
  readonly family: CaseName;
  readonly site: Site;
  readonly client: QualificationClient;
  readonly judge: Judge;
  /** What the faults of a soak follow from; null: it is none. */
  readonly soak: Soak | null;
  /** What its family says is done. */
  readonly faults: readonly Fault[];
  /** Does what is done to the deployment, and notes when; what somebody asks of it the case does itself. */
  inflict(fault: Fault): Promise<void>;
  /** Notes a fault that the case does itself, now. */
  noteFault(fault: Fault): void;
  /** What was found; compared with what the family accepts when the case is over. */
  observe(what: string, actual: Observed): void;
  /** Keeps a file of evidence beside the case's record. */
  keep(name: string, value: unknown): void;
  /** An id of this run's own; the same for the same label in every case. */
  actionId(label: string): string;
  /** What one case leaves for a later one. */
  readonly shared: Map<string, unknown>;
}

export type Proof = (context: CaseContext) => Promise<void>;

const POLL_MS = 100;

/** @throws Error naming it, where it does not come true in time */
export async function becomes(
  what: string,
  check: () => boolean | Promise<boolean>,
  timeoutMs = 60_000,
): Promise<void> {
  if (await pollUntil(check, { timeoutMs, intervalMs: POLL_MS })) return;
  throw new Error(`not within ${Math.round(timeoutMs / 1000)} s: ${what}`);
}

/** Waits until the registry has the replica ready with a lease. */
export async function replicaReady({ judge }: CaseContext, replica: string): Promise<void> {
  await becomes(`replica ${replica} is ready`, async () => {
    const { status, leased } = await judge.replica(replica);
    return status === 'ready' && leased;
  });
}
