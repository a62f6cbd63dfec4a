/**
 * Serving one sink: batch after batch under its lease, until it has all, it fails, or others are to
 * have a turn (docs/architecture, "Event sinks").
 */
import type { Database } from '../db/database';
import type { ParkedChange, SinkLease, SinkResult } from '../db/event-sinks';
import { nextSinkEvents, settleSinkEvents } from '../db/event-sinks';
import { judgeSinkAnswer, parkedDelayMs, sinkDelayMs } from '../domain/event-sinks';
import { cloudEvent, type OutboxEvent } from '../domain/events';
import { parseRetryAfter } from '../domain/retry';
import { point } from '../points';
import type { SinkBatch } from '../schemas/event-rows';
import { SecretError, type SecretProvider } from '../secrets/provider';
import { eventRequest } from '../targets/event-request';
import type { CallTarget } from '../targets/http-target';
import type { Lane, SendReport, SentBatch } from './event-lanes';
import { passedOf, sendLanes } from './event-lanes';
import { patiently } from './patience';
import { signingSecrets } from './signing-secrets';

/** Of a lease, kept for writing down what became of the batch. */
const SETTLING_MS = 5_000;
const BATCH = 100;
/** Then others have a turn. */
const BATCHES_A_TURN = 50;

/** What people should hear of. */
export interface SinkTrouble {
  readonly tenantId: string;
  readonly sinkId: string;
  readonly what: 'failing' | 'paused' | 'parked';
  readonly reason: string;
  readonly detail: string;
  /** Of what is parked. */
  readonly subject?: string;
}

export interface PublishingServices {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly secrets: SecretProvider;
  readonly call: CallTarget;
  /** A number in [0, 1), for jitter. */
  readonly random: () => number;
  readonly trouble: (trouble: SinkTrouble) => void;
}

/**
 * Sends a sink what it has not got, in order per aggregate, each event at least once. Ends without a
 * word when the lease was lost; whoever has it goes on.
 * @param signal ends it early; what was under way is sent again later
 */
export async function serveSink(
  services: PublishingServices,
  lease: SinkLease,
  signal: AbortSignal,
): Promise<void> {
  for (let served = 1; ; served += 1) {
    const startedMs = performance.now();
    const batch = await nextSinkEvents(services.operations, lease, BATCH);
    if (batch === null) return;
    const sent = await sendBatch(services, batch, { startedMs, signal });
    await point('sink.sent');
    const last = signal.aborted || sent.failure !== null || served === BATCHES_A_TURN;
    const result = resultOf(services, batch, sent, last || isEmpty(batch));
    const kept = await patiently(() => settleSinkEvents(services.operations, lease, result));
    await point('sink.settled');
    if (!kept) return;
    tell(services, lease, batch, result);
    if (result.release) return;
  }
}

function isEmpty({ events, again, through, passed }: SinkBatch): boolean {
  return events.length === 0 && again.length === 0 && through === passed;
}

async function sendBatch(
  services: PublishingServices,
  batch: SinkBatch,
  { startedMs, signal }: { readonly startedMs: number; readonly signal: AbortSignal },
): Promise<SentBatch> {
  const untilMs = startedMs + batch.leaseMs - batch.timeoutMs - SETTLING_MS;
  const clock = databaseClock(batch.now);
  const secrets = await secretsOf(services, batch);
  const send = async (event: OutboxEvent): Promise<SendReport> => {
    if (secrets instanceof SecretError) {
      const verdict = { kind: 'failed', reason: 'secret_unavailable' } as const;
      return { verdict, detail: secrets.message, retryAfterMs: null };
    }
    const request = eventRequest({ event: cloudEvent(event), secrets, sentAtMs: clock() });
    const { url, timeoutMs } = batch;
    const report = await services.call({ url, ...request, timeoutMs, success: null, signal });
    const { answer, detail } = report;
    return {
      verdict: judgeSinkAnswer(answer),
      detail,
      retryAfterMs: answer.kind === 'answered' ? parseRetryAfter(answer.retryAfter, clock()) : null,
    };
  };
  const sent = await sendLanes(batch, send, () => !signal.aborted && performance.now() < untilMs);
  // What a stop of our own has cut off is not the sink's failure.
  return signal.aborted && sent.failure?.gone !== true ? { ...sent, failure: null } : sent;
}

/** Read with every batch, so that a rotation is seen; nothing is read for nothing. */
async function secretsOf(
  { secrets }: PublishingServices,
  batch: SinkBatch,
): Promise<string[] | SecretError> {
  if (batch.events.length + batch.again.length === 0) return [];
  try {
    return await signingSecrets(secrets, batch.secretRefs);
  } catch (error) {
    if (error instanceof SecretError) return error;
    throw error;
  }
}

function resultOf(
  services: PublishingServices,
  batch: SinkBatch,
  { lanes, failure }: SentBatch,
  release: boolean,
): SinkResult {
  const taken = lanes.reduce((sum, lane) => sum + lane.taken, 0);
  const alive = taken > 0 || lanes.some(({ refused }) => refused !== null);
  const failures = alive ? 1 : batch.failures + 1;
  const random = services.random();
  return {
    passed: passedOf(batch, lanes),
    taken,
    alive,
    parked: lanes.flatMap((lane) => parkedChange(lane, batch, random) ?? []),
    failure: failure && {
      reason: failure.reason,
      detail: failure.detail,
      delayMs: sinkDelayMs({ failures, retryAfterMs: failure.retryAfterMs, random }),
    },
    pause: failure?.gone === true ? failure.reason : null,
    release,
  };
}

/** What changes of a parked aggregate, or of one that is parked now. */
function parkedChange(lane: Lane, batch: SinkBatch, random: number): ParkedChange | null {
  const { events, taken, refused, parkedFailures } = lane;
  const next = events[taken];
  const { tenantId, aggregate } = next ?? events[0] ?? {};
  if (tenantId === undefined || aggregate === undefined) return null;
  if (refused !== null && next !== undefined) {
    const failures = taken > 0 ? 1 : (parkedFailures ?? 0) + 1;
    const delayMs = parkedDelayMs({ failures, retryAfterMs: refused.retryAfterMs, random });
    const { detail } = refused;
    const fromFeedNo = next.feedNo;
    return { tenantId, aggregate, fromFeedNo, failures, delayMs, reason: 'event_refused', detail };
  }
  if (parkedFailures === null || taken === 0) return null;
  // Taken: it goes on behind these, and is parked no longer once nothing is left there.
  const fromFeedNo = next?.feedNo ?? (events.at(-1)?.feedNo ?? batch.passed) + 1;
  const detail = 'waits for its turn';
  return {
    tenantId,
    aggregate,
    fromFeedNo,
    failures: 1,
    delayMs: 0,
    reason: 'event_refused',
    detail,
  };
}

function tell(
  { trouble }: PublishingServices,
  { tenantId, sinkId }: SinkLease,
  batch: SinkBatch,
  { failure, pause, parked }: SinkResult,
): void {
  const sink = { tenantId, sinkId };
  if (failure !== null && pause !== null) trouble({ ...sink, what: 'paused', ...failure });
  else if (failure !== null && batch.failures === 0) {
    trouble({ ...sink, what: 'failing', ...failure });
  }
  for (const { aggregate, reason, detail, failures, delayMs } of parked) {
    if (failures === 1 && delayMs > 0) {
      trouble({ ...sink, what: 'parked', reason, detail, subject: aggregate });
    }
  }
}

/** The database's clock in ms, carried on by this process's monotonic one. */
function databaseClock(now: string): () => number {
  const readAtMs = Date.parse(now);
  const since = performance.now();
  return () => Math.round(readAtMs + performance.now() - since);
}
