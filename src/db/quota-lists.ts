/** Which quota scopes are full, and who holds them. */
import { z } from 'zod';
import type { TenantId } from '../domain/ids';
import { HOLDERS_SHOWN, OwnScope, QuotaHolder, SharedScope } from '../schemas/api-quotas';
import type { Database, Row, Run, Statement } from './database';
import { readAsTenant, utc } from './lists';

export interface QuotaListRequest {
  readonly tenantId: TenantId;
  readonly full: boolean;
  /** The scope and key of the last row of the page before. */
  readonly after: readonly [string, string] | null;
  readonly limit: number;
}

/** A scope with the key that its counter has. */
export interface KeyedScope {
  readonly key: string;
  readonly scope: OwnScope;
}

export interface QuotaList {
  readonly scopes: readonly KeyedScope[];
  readonly shared: readonly SharedScope[];
}

/** Open attempts that are looked at for holders, the longest first: a page costs no more, however many. */
const ATTEMPTS_READ = 2_000;
const SHARED_SHOWN = 100;

/** What the tenant's bindings are limited by, each scope once, as `waybill.take_quotas` keys it. */
const limits = `limits as materialized (
  select s.scope, s.key, min(s.most) as most
    from waybill.bindings b
    join waybill.quota_policies q using (quota_policy_id)
    join waybill.instances i using (tenant_id, instance_id)
    cross join lateral (values
      ('binding', concat_ws('/', b.tenant_id, b.instance_id, b.capability_id), q.binding_limit),
      ('instance', concat_ws('/', b.tenant_id, b.instance_id), q.instance_limit),
      ('tenant', b.tenant_id, q.tenant_limit),
      ('tenant_retry', b.tenant_id, q.tenant_retry_limit),
      ('connector', i.connector_id, q.connector_limit),
      ('global', '*', q.global_limit)) as s (scope, key, most)
    where b.tenant_id = $1 and b.enabled and s.most is not null
    group by s.scope, s.key)`;

export const quotaListStatements = {
  list: {
    name: 'quota_list',
    text: `with ${limits}, own as (
        select coalesce(l.scope, c.scope) as scope, coalesce(l.key, c.scope_key) as key, l.most,
            coalesce(c.held, 0) as held, coalesce(c.held >= l.most, false) as "full"
          from (select * from limits where scope not in ('connector', 'global')) l
          full join (select q.scope, q.scope_key, q.held from waybill.quota_counters q
            where q.tenant_id = $1) c on c.scope = l.scope and c.scope_key = l.key
          where l.most is not null or c.held > 0)
      select scope, key, most as "limit", held, "full",
          case when scope in ('binding', 'instance') then split_part(key, '/', 2) end as "instanceId",
          -- A capability's id may have slashes of its own.
          case when scope = 'binding' then substr(key, length(split_part(key, '/', 1))
            + length(split_part(key, '/', 2)) + 3) end as "capabilityId"
        from own
        where ($2::boolean is not true or "full")
          and ($3::text is null or (scope, key) > ($3, $4::text))
        order by scope, key limit $5`,
  },
  shared: {
    name: 'quota_list_shared',
    text: `with ${limits}
      select scope, case when scope = 'connector' then key end as "connectorId",
          waybill.shared_quota_full(scope, key, most) as "full"
        from limits where scope in ('connector', 'global') order by scope, key limit ${SHARED_SHOWN}`,
  },
  holders: {
    name: 'quota_list_holders',
    text: `with longest as materialized (
        select action_id, attempt_no, replica_id, opened_at, counters from waybill.route_attempts
          where tenant_id = $1 and settled_at is null
          order by opened_at, action_id limit ${ATTEMPTS_READ}),
      held as (
        select c->>'scope' as scope, c->>'key' as key, l.*, row_number() over (
            partition by c->>'scope', c->>'key' order by l.opened_at, l.action_id) as nth
          from longest l cross join lateral jsonb_array_elements(l.counters) c
          where (c->>'scope', c->>'key') in (select * from unnest($2::text[], $3::text[])))
      select scope, key, action_id as "actionId", attempt_no as "attemptNo",
          replica_id as "replicaId", ${utc('opened_at')} as "openedAt"
        from held where nth <= ${HOLDERS_SHOWN} order by scope, key, nth`,
  },
} as const satisfies Record<string, Statement>;

const Keyed = z.object({ scope: z.string(), key: z.string() });

/** The tenant's own scopes that are limited or held, by scope and key, and the shared ones. */
export async function listQuotas(db: Database, request: QuotaListRequest): Promise<QuotaList> {
  const { tenantId, full, after, limit } = request;
  const { list, shared } = quotaListStatements;
  return await readAsTenant(db, tenantId, async (run) => {
    const values = [tenantId, full, after?.[0] ?? null, after?.[1] ?? null, limit];
    const rows = await run(list, values);
    const holders = await holdersOf(run, tenantId, rows);
    return {
      scopes: rows.map((row) => {
        const { scope, key } = Keyed.parse(row);
        const named = holders.get(`${scope} ${key}`) ?? [];
        return { key, scope: OwnScope.parse({ ...row, holders: named }) };
      }),
      shared: (await run(shared, [tenantId])).map((row) => SharedScope.parse(row)),
    };
  });
}

async function holdersOf(
  run: Run,
  tenantId: TenantId,
  rows: readonly Row[],
): Promise<Map<string, z.infer<typeof QuotaHolder>[]>> {
  const keyed = rows.map((row) => Keyed.parse(row));
  const scopes = keyed.map(({ scope }) => scope);
  const keys = keyed.map(({ key }) => key);
  const found = await run(quotaListStatements.holders, [tenantId, scopes, keys]);
  const holders = new Map<string, z.infer<typeof QuotaHolder>[]>();
  for (const row of found) {
    const { scope, key } = Keyed.parse(row);
    const of = `${scope} ${key}`;
    holders.set(of, [...(holders.get(of) ?? []), QuotaHolder.parse(row)]);
  }
  return holders;
}
