/** Sinks of events: whose turn it is, what they get next, and what became of it. */
import type { TenantId } from '../domain/ids';
import { EventSink } from '../schemas/api-events';
import type { TenantKey } from '../schemas/catalog-rows';
import type { SinkBatch } from '../schemas/event-rows';
import { ClaimedSink, EventSinkRow, NextSinkEventsAnswer } from '../schemas/event-rows';
import type { Database, Run, Statement } from './database';
import { onlyRow } from './database';
import { readAsTenant, utc } from './lists';

/** Parked aggregates that a list names of one sink, those parked longest first. */
const PARKED_SHOWN = 20;

export const eventSinkStatements = {
  claim: { name: 'sinks_claim', text: 'select * from waybill.claim_event_sinks($1)' },
  next: {
    name: 'sinks_next',
    text: 'select waybill.next_sink_events($1, $2, $3, $4) as answer',
  },
  settle: {
    name: 'sinks_settle',
    text: 'select waybill.settle_sink_events($1, $2, $3, $4) as settled',
  },
  published: {
    name: 'sinks_published',
    text: `select tenant_id as tenant, sink_id as id, url, timeout_ms as "timeoutMs", topics,
        secret_refs as "secretRefs", state, pause_reason as "pauseReason"
      from waybill.event_sinks
      where (tenant_id, sink_id) in (select * from unnest($1::text[], $2::text[]))`,
  },
  keys: {
    name: 'sinks_keys',
    text: `select tenant_id as tenant, sink_id as id from waybill.event_sinks
      where $1::text is null or tenant_id = $1`,
  },
  // A new one begins at the feed's end. A change is a reason to try at once; a pause of Waybill's own
  // since the publisher has read the state stays.
  publish: {
    name: 'sinks_publish',
    text: `with r as (
        select * from jsonb_to_recordset($1) as w(tenant text, id text, url text,
          "timeoutMs" integer, topics text[], "secretRefs" text[], state text, "pauseReason" text,
          "stateChanges" boolean)),
      changed as (
        update waybill.event_sinks s
          set url = r.url, timeout_ms = r."timeoutMs", topics = r.topics,
              secret_refs = r."secretRefs",
              state = case when r."stateChanges" then r.state else s.state end,
              pause_reason = case when r."stateChanges" then r."pauseReason" else s.pause_reason end,
              failures = 0, failing_since = null, next_attempt_at = null, reason = null,
              detail = null
          from r where s.tenant_id = r.tenant and s.sink_id = r.id
          returning s.tenant_id, s.sink_id)
      insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs,
          state, pause_reason, passed)
        select r.tenant, r.id, r.url, r."timeoutMs", r.topics, r."secretRefs", r.state,
            r."pauseReason", f.last_feed_no
          from r cross join waybill.event_feed f
          where (r.tenant, r.id) not in (select tenant_id, sink_id from changed)`,
  },
  list: {
    name: 'sinks_list',
    text: `select s.sink_id as "sinkId", s.url, s.topics as types, s.state,
        s.pause_reason as "pauseReason", s.failures, ${utc('s.failing_since')} as "failingSince",
        ${utc('s.next_attempt_at')} as "nextAttemptAt", s.reason, s.detail,
        ${utc('s.taken_at')} as "lastTakenAt", s.missed, ${utc('s.missed_at')} as "lastMissedAt",
        (select count(*) from (select from waybill.events_behind(s.tenant_id, s.passed, 1000)) e)
          as behind,
        (select ${utc('e.occurred_at')} from waybill.events_behind(s.tenant_id, s.passed, 1) e)
          as "oldestBehindAt",
        (select count(*) from waybill.event_sink_parked p where p.tenant_id = s.tenant_id
          and p.sink_id = s.sink_id) as "parkedCount",
        coalesce((select jsonb_agg(to_jsonb(p) - 'at' order by p.at) from (
          select p.aggregate as subject, p.reason, p.detail, p.failures, p.parked_at as at,
              ${utc('p.parked_at')} as "parkedAt", ${utc('p.next_attempt_at')} as "nextAttemptAt"
            from waybill.event_sink_parked p
            where p.tenant_id = s.tenant_id and p.sink_id = s.sink_id
            order by p.parked_at limit ${PARKED_SHOWN}) p), '[]') as parked
      from waybill.event_sinks s where s.tenant_id = $1 and s.sink_id > coalesce($2, '')
      order by s.sink_id limit $3`,
  },
} as const satisfies Record<string, Statement>;

/** A sink, and the lease under which this process serves it. */
export interface SinkLease {
  readonly tenantId: string;
  readonly sinkId: string;
  readonly leaseNo: number;
}

export interface ParkedChange {
  /** The event's. */
  readonly tenantId: string;
  readonly aggregate: string;
  /** The event that it waits with; null: it waits no longer. */
  readonly fromFeedNo: number | null;
  readonly failures: number;
  readonly delayMs: number;
  readonly reason: string;
  readonly detail: string;
}

export interface SinkResult {
  /** How far it has passed. */
  readonly passed: number;
  /** Events that it took. */
  readonly taken: number;
  /** Whether it answered any of them by itself. */
  readonly alive: boolean;
  readonly parked: readonly ParkedChange[];
  /** Of the sink as a whole. */
  readonly failure: {
    readonly reason: string;
    readonly detail: string;
    readonly delayMs: number;
  } | null;
  /** Why it is paused from now on. */
  readonly pause: string | null;
  /** Whether others may serve it at once. */
  readonly release: boolean;
}

/** Sinks that have work and that nobody serves, leased to this process (role operations). */
export async function claimEventSinks(db: Database, limit: number): Promise<SinkLease[]> {
  const rows = await db.query(eventSinkStatements.claim, [limit]);
  return rows.map((row) => {
    const { tenant_id, sink_id, lease_no } = ClaimedSink.parse(row);
    return { tenantId: tenant_id, sinkId: sink_id, leaseNo: lease_no };
  });
}

/** What to send next, with a lease that is longer; null: it is somebody else's, or paused. */
export async function nextSinkEvents(
  db: Database,
  { tenantId, sinkId, leaseNo }: SinkLease,
  limit: number,
): Promise<SinkBatch | null> {
  const values = [tenantId, sinkId, leaseNo, limit];
  const rows = await db.query(eventSinkStatements.next, values);
  const answer = NextSinkEventsAnswer.parse(onlyRow(rows)['answer']);
  return answer.answer === 'lost' ? null : answer;
}

/** Writes down what became of a batch; false when the lease was lost before. */
export async function settleSinkEvents(
  db: Database,
  { tenantId, sinkId, leaseNo }: SinkLease,
  result: SinkResult,
): Promise<boolean> {
  const values = [tenantId, sinkId, leaseNo, JSON.stringify(result)];
  return onlyRow(await db.query(eventSinkStatements.settle, values))['settled'] === true;
}

/** The published sinks of these keys (role control). */
export async function readEventSinks(
  run: Run,
  keys: readonly TenantKey[],
): Promise<EventSinkRow[]> {
  const values = [keys.map((key) => key.tenant), keys.map((key) => key.id)];
  const rows = await run(eventSinkStatements.published, values);
  return rows.map((row) => EventSinkRow.parse(row));
}

/** @param tenant null: those of all tenants */
export async function eventSinkKeys(run: Run, tenant: string | null): Promise<TenantKey[]> {
  const rows = await run(eventSinkStatements.keys, [tenant]);
  return rows.map((row) => {
    return EventSinkRow.pick({ tenant: true, id: true }).parse(row);
  });
}

/** A sink that a publication writes. */
export interface PublishedSink extends EventSinkRow {
  /** Whether the fleet says another state than the publisher has read. */
  readonly stateChanges: boolean;
}

export async function writeEventSinks(run: Run, rows: readonly PublishedSink[]): Promise<void> {
  if (rows.length > 0) await run(eventSinkStatements.publish, [JSON.stringify(rows)]);
}

/** A page of the tenant's sinks by id, with how they fare (role data). */
export async function listEventSinks(
  db: Database,
  request: {
    readonly tenantId: TenantId;
    readonly after: string | null;
    readonly limit: number;
  },
): Promise<EventSink[]> {
  const { tenantId, after, limit } = request;
  return await readAsTenant(db, tenantId, async (run) => {
    const rows = await run(eventSinkStatements.list, [tenantId, after, limit]);
    return rows.map((row) => EventSink.parse(row));
  });
}
