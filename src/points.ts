/**
 * Named points: places where a test stops a process for real, instead of sleeping and hoping.
 *
 * `WAYBILL_HOLD_AT=name[,name…]` makes a process announce on standard output that it reached a point
 * and then stay there until it is killed. Without the variable a point costs one comparison.
 */
const held = new Set(
  (process.env['WAYBILL_HOLD_AT'] ?? '').split(',').filter((name) => name !== ''),
);

export type PointName =
  | 'ingest.verified'
  | 'ingest.committed'
  | 'attend.claimed'
  | 'attend.started'
  | 'attempt.begun'
  | 'attempt.opened'
  | 'attempt.answered'
  | 'attempt.closed'
  | 'replay.begun'
  | 'replay.decided'
  // At a host and its provider (docs/host-protocol): the five boundaries of an execution.
  | 'before_intent_persistence'
  | 'intent_persisted'
  | 'provider_effect_committed'
  | 'provider_response_received'
  | 'result_persisted';

/** Returns at once, or never when this process is told to hold here. */
export async function point(name: PointName): Promise<void> {
  if (!held.has(name)) return;
  process.stdout.write(`${JSON.stringify({ heldAt: name })}\n`);
  await new Promise<never>(() => {
    // Keeps the process alive until a test kills it.
    setInterval(() => undefined, 60_000);
  });
}
