/**
 * Named points: places where a test stops a process for real, instead of sleeping and hoping.
 *
 * `WAYBILL_HOLD_AT=name[,name…]` makes a process announce on standard output that it reached a point
 * and then stay there until it is killed, or told by SIGUSR2 to go on: where it stood then, it holds
 * nobody any more. Without the variable a point costs one comparison.
 */
const held = new Set(
  (process.env['WAYBILL_HOLD_AT'] ?? '').split(',').filter((name) => name !== ''),
);

export type PointName =
  | 'ingest.verified'
  | 'ingest.committed'
  // Of a request with an Idempotency-Key: what it asked for is done, and its answer is not kept yet.
  | 'request.done'
  | 'sending.stored'
  | 'express.claimed'
  | 'express.started'
  | 'attend.claimed'
  | 'attend.started'
  | 'attempt.begun'
  | 'attempt.opened'
  | 'attempt.answered'
  | 'attempt.closed'
  | 'replay.begun'
  | 'replay.decided'
  | 'bulk-replay.planned'
  | 'bulk-replay.due'
  | 'bulk-replay.replayed'
  | 'bulk-replay.nudged'
  | 'bulk-replay.signed'
  | 'bulk-replay.concluded'
  | 'publication.written'
  | 'certification.tried'
  | 'certification.judged'
  | 'sink.claimed'
  | 'sink.sent'
  | 'sink.settled'
  // Of an action: in the worker, from the reservation to its result, and in the API at its start.
  | 'action.stored'
  | 'action.started'
  | 'reserve.begun'
  | 'reserve.done'
  | 'dispatch.begun'
  | 'dispatch.opened'
  | 'dispatch.answered'
  | 'dispatch.closed'
  | 'settle.begun'
  | 'settle.done'
  | 'fencing.begun'
  | 'fencing.opened'
  | 'fencing.answered'
  | 'fencing.concluded'
  | 'approval.asked'
  | 'approval.decided'
  // Of upkeep: between what it reads, signs and writes.
  | 'checkpoint.read'
  | 'checkpoint.appended'
  | 'removal.read'
  | 'removal.done'
  | 'retention.payloads'
  | 'retention.rows'
  | 'retention.replays'
  // At a host and its provider (docs/host-protocol): the five boundaries of an execution.
  | 'before_intent_persistence'
  | 'intent_persisted'
  | 'provider_effect_committed'
  | 'provider_response_received'
  | 'result_persisted';

const waiting = new Map<() => void, PointName>();

/** Returns at once; when this process is told to hold here, not before it is told to go on. */
export async function point(name: PointName): Promise<void> {
  if (!held.has(name)) return;
  if (!process.listeners('SIGUSR2').includes(goOn)) process.on('SIGUSR2', goOn);
  process.stdout.write(`${JSON.stringify({ heldAt: name })}\n`);
  // Keeps the process alive meanwhile.
  const alive = setInterval(() => undefined, 60_000);
  await new Promise<void>((resolve) => waiting.set(resolve, name));
  clearInterval(alive);
}

function goOn(): void {
  for (const [resolve, name] of waiting) {
    held.delete(name);
    resolve();
  }
  waiting.clear();
}
