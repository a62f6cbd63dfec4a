/**
 * Counts of the whole deployment, and the lease of the process that reports them. Counted are the
 * catalog's small tables; of deliveries and attempts only what a partial index holds ready
 * (docs/architecture, "Metrics").
 */
import type { DeploymentFigures } from '../schemas/deployment-figures';
import {
  ConnectorCount,
  DeliveryBacklog,
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
          from waybill.subscriptions s where s.state = 'paused'),
      counted as (
        select what, tenant, why, count(*) as count,
            row_number() over (partition by what order by count(*) desc, tenant, why) as place
          from held group by what, tenant, why)
      select what, case when place <= $1::integer then tenant else 'other' end as tenant, why,
          sum(count)::bigint as count
        from counted group by 1, 2, 3 order by 1, 2, 3`,
  },
  backlog: {
    name: 'figures_backlog',
    text: `select
        (select greatest(0, coalesce(extract(epoch from clock_timestamp() - min(attend_at)), 0))::float8
          from waybill.deliveries where attend_at is not null) as "queueAgeS",
        (select count(*) from waybill.delivery_attempts where closed_at is null) as "openAttempts"`,
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
    const held = await run(figureStatements.held, [maxLabelSets]);
    return {
      held: held.map((row) => HeldCount.parse(row)),
      connectors: connectors.map((row) => ConnectorCount.parse(row)),
      subscriptions: subscriptions.map((row) => SubscriptionCount.parse(row)),
      backlog: DeliveryBacklog.parse(onlyRow(await run(figureStatements.backlog, []))),
    };
  });
}

/** Gives the lease up, so that another process need not wait for its end. */
export async function leaveReporting(db: Database, reporter: string): Promise<void> {
  await db.query(figureStatements.leave, [reporter]);
}
