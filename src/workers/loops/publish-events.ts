/**
 * Gives committed events their places in the feed and serves the sinks that have something to get.
 * Each sink is served by one process at a time, and beside the others: one that hangs delays itself.
 */
import type { Logger } from 'pino';
import { claimEventSinks, type SinkLease } from '../../db/event-sinks';
import { sequenceEvents } from '../../db/events';
import { point } from '../../points';
import type { PublishingServices } from '../../services/event-publishing';
import { serveSink } from '../../services/event-publishing';
import { runLoop } from './loop';

const INTERVAL_MS = 500;
const SEQUENCE_BATCH = 1_000;
/** Sinks that one process serves at once. */
const SINKS_AT_ONCE = 32;

export interface PublishEventsOptions extends PublishingServices {
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Runs until the signal, and until the sinks that are being served then have stopped. */
export async function publishEventsLoop(options: PublishEventsOptions): Promise<void> {
  const { operations, log, signal } = options;
  const serving = new Set<Promise<void>>();
  const round = async () => {
    const sequenced = await sequenceEvents(operations, SEQUENCE_BATCH);
    const free = SINKS_AT_ONCE - serving.size;
    const leases = free > 0 ? await claimEventSinks(operations, free) : [];
    if (leases.length > 0) await point('sink.claimed');
    for (const lease of leases) {
      const served = serve(options, lease).finally(() => serving.delete(served));
      serving.add(served);
    }
    return sequenced === SEQUENCE_BATCH;
  };
  await runLoop({ name: 'publish-events', intervalMs: INTERVAL_MS, round, signal, log });
  await Promise.all(serving);
}

/** Postgres away: the lease ends by itself, and the events are sent then. */
async function serve(options: PublishEventsOptions, lease: SinkLease): Promise<void> {
  try {
    await serveSink(options, lease, options.signal);
  } catch (error) {
    const { tenantId, sinkId } = lease;
    const err = error instanceof Error ? error.message : String(error);
    options.log.warn({ tenantId, sinkId, err }, 'a sink could not be served; tried again later');
  }
}
