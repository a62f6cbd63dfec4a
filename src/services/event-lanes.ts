/**
 * The order in which a sink's batch is sent (docs/architecture, "Event sinks"): each aggregate is a
 * lane, one event after the other; lanes go side by side. A lane ends at an event that was not taken,
 * and no lane goes on once the sink itself has failed.
 */
import type { SinkReason, SinkVerdict } from '../domain/event-sinks';
import { MAX_PARKED } from '../domain/event-sinks';
import type { OutboxEvent } from '../domain/events';
import type { SinkBatch } from '../schemas/event-rows';

/** Lanes that are under way at once. */
const SIDE_BY_SIDE = 8;

export interface SendReport {
  readonly verdict: SinkVerdict;
  /** One sentence for people. */
  readonly detail: string;
  readonly retryAfterMs: number | null;
}

export interface Lane {
  readonly events: readonly OutboxEvent[];
  /** Failures before, of a lane that was parked; null: it was not. */
  readonly parkedFailures: number | null;
  /** How many were taken, from the first one on. */
  taken: number;
  /** The event after those was refused. */
  refused: SendReport | null;
}

export interface SentBatch {
  readonly lanes: readonly Lane[];
  /** What the sink as a whole answered, where it failed or is gone. */
  readonly failure: (SendReport & { readonly reason: SinkReason; readonly gone: boolean }) | null;
}

/**
 * Sends what can be sent of a batch.
 * @param mayGoOn false once nothing more may be sent, for want of time
 */
export async function sendLanes(
  batch: SinkBatch,
  send: (event: OutboxEvent) => Promise<SendReport>,
  mayGoOn: () => boolean,
): Promise<SentBatch> {
  const lanes = lanesOf(batch);
  let failure: SentBatch['failure'] = null;
  let parked = batch.parked;
  const waiting = [...lanes];

  const runLane = async (lane: Lane): Promise<void> => {
    for (const event of lane.events) {
      if (failure !== null || !mayGoOn()) return;
      const report = await send(event);
      const { verdict } = report;
      if (verdict.kind === 'taken') {
        lane.taken += 1;
        continue;
      }
      if (verdict.kind !== 'refused') {
        failure ??= { ...report, reason: verdict.reason, gone: verdict.kind === 'gone' };
        return;
      }
      if (lane.parkedFailures === null) parked += 1;
      if (parked > MAX_PARKED) failure ??= { ...report, reason: 'too_many_refused', gone: false };
      else lane.refused = report;
      return;
    }
  };
  const runner = async (): Promise<void> => {
    for (let lane = waiting.shift(); lane !== undefined; lane = waiting.shift())
      await runLane(lane);
  };
  // One that is down is asked by one event at a time.
  const runners = batch.failures > 0 ? 1 : SIDE_BY_SIDE;
  await Promise.all(Array.from({ length: runners }, runner));
  return { lanes, failure };
}

function lanesOf(batch: SinkBatch): Lane[] {
  const fresh = { taken: 0, refused: null };
  const parked = batch.again.map(({ events, failures }): Lane => {
    return { events, parkedFailures: failures, ...fresh };
  });
  const others = new Map<string, OutboxEvent[]>();
  for (const event of batch.events) {
    const key = `${event.tenantId}/${event.aggregate}`;
    const lane = others.get(key);
    if (lane === undefined) others.set(key, [event]);
    else lane.push(event);
  }
  return [
    ...parked,
    ...[...others.values()].map((events): Lane => ({ events, parkedFailures: null, ...fresh })),
  ];
}

/** How far the sink has passed: up to the first event that has to be sent yet. */
export function passedOf(batch: SinkBatch, lanes: readonly Lane[]): number {
  const open = lanes
    .filter(({ parkedFailures, refused }) => parkedFailures === null && refused === null)
    .flatMap(({ events, taken }) => events[taken]?.feedNo ?? []);
  return open.length === 0 ? batch.through : Math.min(...open) - 1;
}
