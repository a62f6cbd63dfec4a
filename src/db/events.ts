/** The outbox: places in the feed, pages of it, and what has had its time. */
import type { TenantId } from '../domain/ids';
import { ForgottenEvents, ReadEventsAnswer } from '../schemas/event-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const eventStatements = {
  sequence: { name: 'events_sequence', text: 'select waybill.sequence_events($1) as count' },
  read: { name: 'events_read', text: 'select waybill.read_events($1, $2, $3, $4) as page' },
  end: { name: 'events_end', text: 'select waybill.feed_end($1) as place' },
  forget: { name: 'events_forget', text: 'select waybill.forget_events($1) as forgotten' },
} as const satisfies Record<string, Statement>;

export interface EventPageRequest {
  readonly tenantId: TenantId;
  /** A place in the feed; null: from the oldest event from which nothing is missing. */
  readonly after: number | null;
  /** Null: of all topics. */
  readonly topics: readonly string[] | null;
  readonly limit: number;
}

/**
 * Gives up to `limit` committed events their places in the feed (role operations); answers how many,
 * and none while another process does it.
 */
export async function sequenceEvents(db: Database, limit: number): Promise<number> {
  return Number(onlyRow(await db.query(eventStatements.sequence, [limit]))['count']);
}

/** Events that the tenant may see, its own and the platform's, in the feed's order (role data). */
export async function readEvents(
  db: Database,
  { tenantId, after, topics, limit }: EventPageRequest,
): Promise<ReadEventsAnswer> {
  const rows = await db.query(eventStatements.read, [tenantId, after, topics, limit]);
  return ReadEventsAnswer.parse(onlyRow(rows)['page']);
}

/** The place behind all that the tenant may see now (role data). */
export async function feedEnd(db: Database, tenantId: TenantId): Promise<number> {
  return Number(onlyRow(await db.query(eventStatements.end, [tenantId]))['place']);
}

/** Removes up to `limit` events whose time is over; see `waybill.forget_events` (role operations). */
export async function forgetEvents(db: Database, limit: number): Promise<ForgottenEvents> {
  const rows = await db.query(eventStatements.forget, [limit]);
  return ForgottenEvents.parse(onlyRow(rows)['forgotten']);
}
