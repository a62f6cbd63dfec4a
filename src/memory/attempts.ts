/** Ending an attempt: frees what it took, moves the circuit and the action. */
import type { Settlement, UnknownCause } from '../domain/routes';
import { releaseQuotas } from './quotas';
import type { ActionEntry, AttemptEntry, OverdueCause, RegistryState, ReplicaEntry } from './state';

const LATE_EVIDENCE_KEPT = 10;

export interface Ending {
  readonly settlement: Settlement;
  readonly cause: UnknownCause | OverdueCause | null;
  readonly evidence: Readonly<Record<string, unknown>>;
}

export function openAttemptOf(action: ActionEntry): AttemptEntry | null {
  const last = action.attempts.at(-1);
  return last?.settlement === null ? last : null;
}

export function endAttempt(
  state: RegistryState,
  action: ActionEntry,
  attempt: AttemptEntry,
  ending: Ending,
): void {
  Object.assign(attempt, ending);
  const replica = state.replicas.get(attempt.replicaId);
  if (replica !== undefined) freeReplica(state, replica, attempt);
  releaseQuotas(state, attempt.counters);
  const { settlement } = ending;
  const { state: at } = action;
  if (settlement === 'not_started' && (at === 'reserved' || at === 'dispatching')) {
    moveTo(action, 'requested');
  }
  // Somebody wants it stopped: whoever clears it up cancels it.
  if (settlement === 'not_started' && at === 'cancelling') moveTo(action, 'unknown');
  if (
    (settlement === 'outcome_unknown' || settlement === 'lease_expired') &&
    (at === 'reserved' || at === 'dispatching' || at === 'cancelling')
  ) {
    moveTo(action, 'unknown');
  }
}

/** Once the circuit is open, only its probes decide; what an earlier incarnation left is neutral. */
function freeReplica(state: RegistryState, replica: ReplicaEntry, attempt: AttemptEntry): void {
  const now = state.nowMs();
  const { circuitUnknowns, circuitOpenMs } = state.settings;
  const opened = replica.circuitOpenUntil;
  const decides = attempt.probe && opened !== null && opened <= now;
  replica.activeAssignments -= 1;
  if (attempt.probe) replica.probes -= 1;
  if (attempt.incarnation !== replica.incarnation) return;
  if (attempt.settlement === 'completed' && (opened === null || decides)) {
    replica.unknownFailures = 0;
    replica.circuitOpenUntil = null;
  }
  if (attempt.settlement !== 'outcome_unknown' || attempt.cause !== 'host') return;
  replica.unknownFailures += 1;
  const opens = decides || (opened === null && replica.unknownFailures >= circuitUnknowns);
  if (circuitUnknowns > 0 && opens) replica.circuitOpenUntil = now + circuitOpenMs;
}

/** Why an open attempt is over without its owner; null: it is not. */
export function overdueCause(state: RegistryState, attempt: AttemptEntry): OverdueCause | null {
  const now = state.nowMs();
  const replica = state.replicas.get(attempt.replicaId);
  if (replica === undefined || replica.status === 'offline') return 'offline';
  if (replica.incarnation !== attempt.incarnation) return 'incarnation';
  if (replica.leaseEndsAt <= now) return 'replica_lease';
  return attempt.deadlineAt <= now ? 'deadline' : null;
}

export function keepLateEvidence(attempt: AttemptEntry, evidence: unknown): void {
  if (attempt.lateEvidence.length < LATE_EVIDENCE_KEPT) attempt.lateEvidence.push(evidence);
}

export function moveTo(action: ActionEntry, to: ActionEntry['state']): void {
  action.state = to;
  action.version += 1;
}
