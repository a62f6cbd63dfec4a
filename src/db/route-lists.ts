/** Reading routes and their attempts for people and programs. */
import type { ActionRef } from '../domain/action-service';
import type { TenantId } from '../domain/ids';
import { RouteDetail, RouteSummary, type RouteFilters } from '../schemas/api-routes';
import type { Database, Statement } from './database';
import type { ActionPlace } from './lists';
import { goesOn, newest, readAsTenant, utc } from './lists';

export interface RouteListRequest {
  readonly tenantId: TenantId;
  readonly filters: RouteFilters;
  readonly after: ActionPlace | null;
  readonly limit: number;
}

/** Columns of a route `r`, as pairs of name and expression. */
const ROUTE: readonly (readonly [string, string])[] = [
  ...(['action', 'capability', 'connector', 'instance', 'replica'] as const).map(
    (thing) => [`${thing}Id`, `r.${thing}_id`] as const,
  ),
  ['version', 'r.version'],
  ['manifestDigest', 'r.manifest_digest'],
  ['endpoint', 'r.endpoint'],
  ['peerPrincipalId', 'r.peer_principal_id'],
  ['peerPrincipalKind', 'r.peer_principal_kind'],
  ['peerDid', 'r.peer_did'],
  ['trustDomain', 'r.trust_domain'],
  ['transportProfile', 'r.transport_profile'],
  [
    'topology',
    `jsonb_build_object('region', r.region, 'zone', r.zone, 'capacityClass', r.capacity_class)`,
  ],
  ['catalogRevision', 'r.catalog_revision'],
  ['bindingPolicyRevision', 'r.binding_policy_revision'],
  ['credentialRevision', 'r.credential_revision'],
  ['quotaPolicyId', 'r.quota_policy_id'],
  ['assignedAt', utc('r.assigned_at')],
  ['fence', 'r.fence'],
  ['generation', 'r.generation'],
  ['retiredAt', utc('r.retired_at')],
];

/** SQL for a route `r` as JSON. */
export const routeJson = `jsonb_build_object(${ROUTE.map(([name, value]) => `'${name}', ${value}`).join(', ')})`;

export const routeListStatements = {
  list: { name: 'route_list', text: pageText('waybill.routes r', '') },
  // Open ones are as few as there is capacity: from there, each by its key, however many routes there
  // are; the limit keeps the planner from reading them all instead.
  listOpen: {
    name: 'route_list_open',
    text: pageText(
      `open cross join lateral (select * from waybill.routes x
        where x.tenant_id = $1 and x.action_id = open.action_id limit 1) r`,
      `open as materialized (select action_id from waybill.route_attempts
        where tenant_id = $1 and settled_at is null),`,
    ),
  },
  show: {
    name: 'route_show',
    text: `select ${summaryColumns()}, ${attemptHistory('r')} as attempts, ${retiredRoutes('r')} as retired
      from waybill.routes r where r.tenant_id = $1 and r.action_id = $2`,
  },
} as const satisfies Record<string, Statement>;

/** Routes that match every filter, the last assigned first, at most `limit`. */
export async function listRoutes(db: Database, request: RouteListRequest): Promise<RouteSummary[]> {
  const { tenantId, filters, after, limit } = request;
  const values = [
    tenantId,
    filters.instanceId ?? null,
    filters.replicaId ?? null,
    after?.at ?? null,
    after?.actionId ?? null,
    limit,
  ];
  const { list, listOpen } = routeListStatements;
  const statement = filters.open === true ? listOpen : list;
  const rows = await readAsTenant(db, tenantId, (run) => run(statement, values));
  return rows.map((found) => RouteSummary.parse(found));
}

/** One route with its attempts; null when the tenant has none for that action. */
export async function showRoute(db: Database, ref: ActionRef): Promise<RouteDetail | null> {
  const [found] = await readAsTenant(db, ref.tenantId, (run) =>
    run(routeListStatements.show, [ref.tenantId, ref.actionId]),
  );
  return found === undefined ? null : RouteDetail.parse(found);
}

/** SQL for the attempts of the action that row `of` names, as a JSON array. */
export function attemptHistory(of: string): string {
  return newest('"attemptNo"', 't.attempt_no', {
    columns: `t.attempt_no as "attemptNo", t.fence, t.replica_id as "replicaId", t.incarnation,
      ${utc('t.opened_at')} as "openedAt", ${utc('t.deadline_at')} as "deadlineAt",
      ${utc('t.settled_at')} as "settledAt", t.settlement, t.cause, t.evidence,
      t.late_evidence as "lateEvidence"`,
    source: `waybill.route_attempts t
      where t.tenant_id = ${of}.tenant_id and t.action_id = ${of}.action_id`,
  });
}

/** SQL for the routes that operators took back from the action that row `of` names, as a JSON array. */
function retiredRoutes(of: string): string {
  const kept = (['instanceId', 'version', 'replicaId', 'assignedAt'] as const)
    .map((name) => `k.route->>'${name}' as "${name}"`)
    .join(', ');
  return newest('generation', 'k.generation', {
    columns: `k.generation, ${kept}, k.fence, ${utc('k.retired_at')} as "retiredAt",
      k.retired_by as "retiredBy", k.reason, k.proof`,
    source: `waybill.retired_routes k
      where k.tenant_id = ${of}.tenant_id and k.action_id = ${of}.action_id`,
  });
}

/** SQL for how many attempts the action that row `of` names has had. */
export function attemptCount(of: string): string {
  return `(select count(*)::integer from waybill.route_attempts t
    where t.tenant_id = ${of}.tenant_id and t.action_id = ${of}.action_id)`;
}

function summaryColumns(): string {
  return `${ROUTE.map(([name, value]) => `${value} as "${name}"`).join(', ')},
    ${attemptCount('r')} as "attemptCount",
    (select ${utc('o.deadline_at')} from waybill.route_attempts o
      where o.tenant_id = r.tenant_id and o.action_id = r.action_id and o.settled_at is null)
      as "openUntil"`;
}

function pageText(source: string, before: string): string {
  return `
with ${before} page as materialized (
  select r.tenant_id, r.action_id from ${source}
  where r.tenant_id = $1
    and ($2::text is null or r.instance_id = $2)
    and ($3::text is null or r.replica_id = $3)
    and ${goesOn({ at: 'r.assigned_at', id: 'r.action_id' }, 4)}
  order by r.assigned_at desc, r.action_id desc
  limit $6)
select ${summaryColumns()} from page join waybill.routes r using (tenant_id, action_id)
  order by r.assigned_at desc, r.action_id desc`;
}
