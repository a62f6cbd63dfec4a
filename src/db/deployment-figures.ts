/**
 * Counts of the whole deployment, and the lease of the process that reports them. Counted are the
 * catalog's small tables and the sinks; of deliveries, attempts and events only what an index holds ready
 * (docs/architecture, "Metrics").
 */
import type { DeploymentFigures } from '../schemas/deployment-figures';
import {
  ConnectorCount,
  DeliveryBacklog,
  SinkFigures,
  HeldCount,
  SubscriptionCount,
} from '../schemas/deployment-figures';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const figureStatements = {
  lease: {
    name: 'figures_lease',
    text: `update waybill.figures_reporter
      set reporter = $1, lease_ends_at = clock_timestamp() + make_interval(secs => $2::integer / 1000.0)
      where reporter is null or reporter = $1 or lease_ends_at <= clock_timestamp()
      returning reporter`,
  },
  leave: {
    name: 'figures_leave',
    text: `update waybill.figures_reporter set reporter = null, lease_ends_at = null
      where reporter = $1`,
  },
  connectors: {
    name: 'figures_connectors',
    text: `with counted as (
        select c.provider, v.status as state, count(*) as count,
            row_number() over (order by count(*) desc, c.provider, v.status) as place
          from waybill.connector_versions v join waybill.connectors c using (connector_id)
          group by c.provider, v.status)
      select case when place <= $1::integer then provider else 'other' end as provider, state,
          sum(count)::bigint as count
        from counted group by 1, 2 order by 1, 2`,
  },
  subscriptions: {
    name: 'figures_subscriptions',
    text: `with counted as (
        select s.tenant_id as tenant, i.connector_id as connector, count(*) as count,
            row_number() over (order by count(*) desc, s.tenant_id, i.connector_id) as place
          from waybill.subscriptions s join waybill.instances i using (tenant_id, instance_id)
          where s.state = 'active' group by s.tenant_id, i.connector_id)
      select case when place <= $1::integer then tenant else 'other' end as tenant,
          case when place <= $1::integer then connector else 'other' end as connector,
          sum(count)::bigint as count
        from counted group by 1, 2 order by 1, 2`,
  },
  held: {
    name: 'figures_held',
    text: `with held as (
        select 'target' as what, s.tenant_id as tenant, w.why from waybill.target_states s
          cross join lateral (values ('breaker_' || s.breaker, s.breaker <> 'closed'),
            ('paused', s.paused_at is not null)) as w (why, holds)
          where w.holds
        union all
        select 'subscription', s.tenant_id, coalesce(s.pause_reason, 'paused')
          from waybill.subscriptions s where s.state = 'paused'
        union all
        select 'action', p.tenant_id, 'awaiting_approval' from waybill.approvals p
          where p.state = 'asked'),
      counted as (
        select what, tenant, why, count(*) as count,
            row_number() over (partition by what order by count(*) desc, tenant, why) as place
          from held group by what, tenant, why)
      select what, case when place <= $1::integer then tenant else 'other' end as tenant, why,
          sum(count)::bigint as count
        from counted group by 1, 2, 3 order by 1, 2, 3`,
  },
  // What waits for the loop of the express lane is in no index by its time: the oldest of each subscription.
  backlog: {
    name: 'figures_backlog',
    text: `with recursive waiting as (
        (select tenant_id, subscription_id, attend_at from waybill.deliveries
          where driver = 'loop' and state = 'Received'
          order by tenant_id, subscription_id, received_at, delivery_id limit 1)
        union all
        select n.* from waiting w cross join lateral (
          select d.tenant_id, d.subscription_id, d.attend_at from waybill.deliveries d
            where d.driver = 'loop' and d.state = 'Received'
              and (d.tenant_id, d.subscription_id) > (w.tenant_id, w.subscription_id)
            order by d.tenant_id, d.subscription_id, d.received_at, d.delivery_id limit 1) n)
      select
        greatest(0, coalesce(extract(epoch from clock_timestamp() - least(
          (select min(attend_at) from waybill.deliveries
            where attend_at is not null and not (driver = 'loop' and state = 'Received')),
          (select min(attend_at) from waiting))), 0))::float8 as "queueAgeS",
        (select count(*) from waybill.delivery_attempts where closed_at is null) as "openAttempts"`,
  },
  // Of each sink one event is looked at. Places in the feed may be given a moment after the event.
  sinks: {
    name: 'figures_sinks',
    text: `with known as (
        select s.tenant_id as tenant, s.sink_id as sink, s.state,
            coalesce(extract(epoch from now() - least(
              (select e.occurred_at from waybill.events_behind(s.tenant_id, s.passed, 1) e),
              (select min(p.parked_at) from waybill.event_sink_parked p
                where p.tenant_id = s.tenant_id and p.sink_id = s.sink_id))), 0)::float8 as age,
            coalesce(extract(epoch from now() - s.failing_since), 0)::float8 as failing,
            (select count(*) from waybill.event_sink_parked p
              where p.tenant_id = s.tenant_id and p.sink_id = s.sink_id) as parked
          from waybill.event_sinks s),
      placed as (
        select k.*, row_number() over (order by age desc, tenant, sink) as place from known k)
      select case when place <= $1::integer then tenant else 'other' end as tenant,
          case when place <= $1::integer then sink else 'other' end as sink, state,
          greatest(0, max(age)) as "eventAgeS", greatest(0, max(failing)) as "failingS",
          sum(parked)::bigint as parked
        from placed group by 1, 2, 3 order by 1, 2, 3`,
  },
} as const satisfies Record<string, Statement>;

export interface FiguresLease {
  /** The process that wants to report. */
  readonly reporter: string;
  /** For how long it keeps others from reporting. */
  readonly leaseMs: number;
  /** The most combinations of labels of one count; what is beyond is counted as `other`. */
  readonly maxLabelSets: number;
}

/**
 * Takes or renews the lease and reads the figures; null while another process holds the lease (role
 * operations).
 */
export async function readDeploymentFigures(
  db: Database,
  { reporter, leaseMs, maxLabelSets }: FiguresLease,
): Promise<DeploymentFigures | null> {
  return db.transaction(async (run) => {
    const leased = await run(figureStatements.lease, [reporter, leaseMs]);
    if (leased.length === 0) return null;
    const connectors = await run(figureStatements.connectors, [maxLabelSets]);
    const subscriptions = await run(figureStatements.subscriptions, [maxLabelSets]);
    const sinks = await run(figureStatements.sinks, [maxLabelSets]);
    const held = await run(figureStatements.held, [maxLabelSets]);
    return {
      held: held.map((row) => HeldCount.parse(row)),
      connectors: connectors.map((row) => ConnectorCount.parse(row)),
      subscriptions: subscriptions.map((row) => SubscriptionCount.parse(row)),
      backlog: DeliveryBacklog.parse(onlyRow(await run(figureStatements.backlog, []))),
      sinks: sinks.map((row) => SinkFigures.parse(row)),
    };
  });
}

/** Gives the lease up, so that another process need not wait for its end. */
export async function leaveReporting(db: Database, reporter: string): Promise<void> {
  await db.query(figureStatements.leave, [reporter]);
}
