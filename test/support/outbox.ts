/** The outbox for tests: what is in it, what is put there, how old it is. */
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { EVENT_TOPICS, type EventName } from '../../src/domain/events';
import type { TestDatabase } from './test-database';

const NAMES = Object.keys(EVENT_TOPICS) as EventName[];

/** `sequence name` of every event of a delivery, in order. */
export async function outboxOf(
  db: Pick<TestDatabase, 'rows'>,
  ref: DeliveryRef,
): Promise<string[]> {
  const rows = await db.rows<{ seq: number; topic: string }>(
    `select aggregate_seq as seq, topic from waybill.outbox_events
      where tenant_id = $1 and aggregate = $2 order by aggregate_seq`,
    [ref.tenantId, `delivery/${ref.deliveryId}`],
  );
  return rows.map(({ seq, topic }) => {
    return `${String(seq)} ${NAMES.find((name) => EVENT_TOPICS[name] === topic) ?? topic}`;
  });
}

/** Puts an event there as its aggregate would. */
export async function tell(
  db: Pick<TestDatabase, 'rows'>,
  event: {
    readonly tenant: string;
    readonly aggregate: string;
    readonly sequence?: number;
    readonly topic?: string;
  },
): Promise<void> {
  await db.rows(
    `insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
      values ($1, $2, $3, $4, '{}')`,
    [
      event.tenant,
      event.aggregate,
      event.sequence ?? 1,
      event.topic ?? EVENT_TOPICS.DeliveryReceived,
    ],
  );
}

/** As if they had happened so many days ago: all, or the first so many of the feed. */
export async function ageEvents(
  db: Pick<TestDatabase, 'rows'>,
  days: number,
  first?: number,
): Promise<void> {
  await db.rows(
    `update waybill.outbox_events set occurred_at = now() - make_interval(days => $1)
      where feed_no in (select feed_no from waybill.outbox_events order by feed_no limit $2)`,
    [days, first ?? null],
  );
}

/** Places of all events, in the feed's order. */
export async function placesOf(db: Pick<TestDatabase, 'rows'>): Promise<number[]> {
  const rows = await db.rows<{ place: string }>(
    'select feed_no as place from waybill.outbox_events where feed_no is not null order by feed_no',
  );
  return rows.map(({ place }) => Number(place));
}
