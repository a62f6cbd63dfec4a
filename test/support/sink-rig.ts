/**
 * Sinks at work: a database of its own, real receivers, and publishing as a worker does it, several
 * side by side where a test wants that.
 */
import { pino } from 'pino';
import { listEventSinks } from '../../src/db/event-sinks';
import { tenantId } from '../../src/domain/ids';
import type { EventSink } from '../../src/schemas/api-events';
import { referencedSecrets } from '../../src/secrets/references';
import type { PublishingServices, SinkTrouble } from '../../src/services/event-publishing';
import { STRICT_ADDRESSES } from '../../src/schemas/target-addresses';
import { httpTargets } from '../../src/targets/http-target';
import { publishEventsLoop } from '../../src/workers/loops/publish-events';
import { Receiver } from './receiver';
import { createTestDatabase, type TestDatabase, testPool } from './test-database';
import { until } from './until';

export const SINK_SECRET = `whsec_${Buffer.from('a secret of the sink, 32 bytes..').toString('base64')}`;

/** What a sink has got. */
export interface Got {
  readonly id: string;
  readonly subject: string;
  readonly sequence: number;
}

export class SinkRig {
  readonly db: TestDatabase;
  readonly troubles: SinkTrouble[] = [];
  readonly services: PublishingServices;
  readonly #targets = httpTargets({
    policy: () => Promise.resolve({ ...STRICT_ADDRESSES, allow: ['127.0.0.1'] }),
  });
  readonly #receivers: Receiver[] = [];
  readonly #workers: { stop: () => Promise<void> }[] = [];

  private constructor(db: TestDatabase) {
    this.db = db;
    this.services = this.#services('waybill_operations');
  }

  static async start(): Promise<SinkRig> {
    return new SinkRig(await createTestDatabase());
  }

  #services(role: 'waybill_operations'): PublishingServices {
    return {
      operations: this.db.as(role),
      secrets: referencedSecrets({ env: { SINK_SECRET } }),
      call: this.#targets.call,
      random: () => 0,
      trouble: (trouble) => this.troubles.push(trouble),
    };
  }

  /** A sink of acme with a receiver of its own. */
  async sink(
    id: string,
    changes: { readonly topics?: string; readonly url?: string; readonly timeoutMs?: number } = {},
  ): Promise<Receiver> {
    const receiver = await Receiver.start();
    this.#receivers.push(receiver);
    await this.db.rows(
      `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs,
          state, passed) values ('acme', $1, $2, $3, $4, '{env:SINK_SECRET}', 'active', 0)`,
      [
        id,
        changes.url ?? `${receiver.url}/${id}`,
        changes.timeoutMs ?? 2_000,
        changes.topics ?? '{*}',
      ],
    );
    return receiver;
  }

  /** Events of acme: so many of each of these aggregates, taking turns. */
  async tell(
    aggregates: readonly string[],
    each: number,
    topic = 'delivery-received',
  ): Promise<void> {
    await this.db.rows(
      `insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
        select 'acme', a, coalesce((select max(o.aggregate_seq) from waybill.outbox_events o
            where o.tenant_id = 'acme' and o.aggregate = a), 0) + n,
          'connectors.deliveries.v1.' || $3, '{}'
        from generate_series(1, $2::integer) n cross join unnest($1::text[]) a order by n, a`,
      [aggregates, each, topic],
    );
  }

  /** A worker's loop, on a pool of its own; ends with the rig, or before. */
  work(): { stop: () => Promise<void> } {
    const ending = new AbortController();
    const operations = testPool(this.db.url, 'waybill_operations');
    const log = pino({ level: 'silent' });
    const loop = publishEventsLoop({ ...this.services, operations, log, signal: ending.signal });
    const worker = {
      stop: async () => {
        ending.abort();
        await loop;
        await operations.close().catch(() => undefined);
      },
    };
    this.#workers.push(worker);
    return worker;
  }

  async shown(id: string): Promise<EventSink> {
    const request = { tenantId: tenantId('acme'), after: null, limit: 100 };
    const sinks = await listEventSinks(this.db.as('waybill_data'), request);
    const found = sinks.find(({ sinkId }) => sinkId === id);
    if (found === undefined) throw new Error(`there is no sink ${id}`);
    return found;
  }

  /** The sink as it is shown, once it is like this. */
  shows(id: string, like: (sink: EventSink) => boolean): Promise<EventSink> {
    return until(`sink ${id}`, async () => {
      const sink = await this.shown(id);
      return like(sink) ? sink : null;
    });
  }

  /** Does not wait for the time of the next attempt. */
  async hurry(): Promise<void> {
    await this.db.rows(
      `update waybill.event_sinks set next_attempt_at = now() where next_attempt_at is not null`,
    );
    await this.db.rows('update waybill.event_sink_parked set next_attempt_at = now()');
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
    await Promise.all(this.#receivers.map((receiver) => receiver.stop()));
    await this.#targets.close();
    await this.db.drop();
  }
}

/** What a receiver was sent, oldest first. */
export function got(receiver: Receiver): Got[] {
  return receiver.calls.map(({ body }) => {
    const { id, subject, sequence } = JSON.parse(body.toString('utf8')) as Record<string, string>;
    return { id: id ?? '', subject: subject ?? '', sequence: Number(sequence) };
  });
}

/** Of each subject the sequences in the order in which they came first: a repeat is no news. */
export function firstTimes(events: readonly Got[]): Record<string, number[]> {
  const seen = new Set<string>();
  const orders: Record<string, number[]> = {};
  for (const { id, subject, sequence } of events) {
    if (seen.has(id)) continue;
    seen.add(id);
    (orders[subject] ??= []).push(sequence);
  }
  return orders;
}

export function numbers(through: number): number[] {
  return Array.from({ length: through }, (_, index) => index + 1);
}
