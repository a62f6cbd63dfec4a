/**
 * The floor of a pair: the same rows of the same tables, in two transactions, by the same role, with
 * everything given and nothing decided. What it writes cannot be told from what the product writes.
 */
import type { Database, Statement } from '../../src/db/database';
import { CLOSE, HOLD_MS, resultOf, type Ask, type Hands, type Held } from './hands';
import { firstReceiptText } from './receipts';
import type { Site } from './shapes';
import { CONNECTOR, INSTANCE } from './shapes';

const FLOOR = `
create schema floor;
grant usage on schema floor to waybill_data;

create function floor.reserve(
  r waybill.routes, t waybill.route_attempts, p_scopes text[], p_keys text[]
) returns void language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
begin
  perform set_config('waybill.tenant', r.tenant_id, true);
  update waybill.replicas set active_assignments = active_assignments + 1
    where replica_id = r.replica_id;
  insert into waybill.routes select (r).*;
  insert into waybill.route_attempts select (t).*;
  update waybill.actions set state = 'reserved', version = version + 1, waiting_since = null,
      reason = null, detail = null, attend_at = t.deadline_at + interval '5 seconds'
    where tenant_id = r.tenant_id and action_id = r.action_id;
  insert into waybill.quota_counters as q (scope, scope_key, tenant_id, held)
    select c.scope, c.key, r.tenant_id, 1 from unnest(p_scopes, p_keys) c(scope, key)
    on conflict (scope, scope_key) do update set held = q.held + 1;
end
$$;

create function floor.close(
  t waybill.route_attempts, p_scopes text[], p_keys text[], p_evidence jsonb, p_result bytea,
  p_receipt jsonb
) returns void language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
begin
  perform set_config('waybill.tenant', t.tenant_id, true);
  update waybill.route_attempts set settled_at = clock_timestamp(), settlement = 'completed',
      cause = null, evidence = p_evidence
    where tenant_id = t.tenant_id and action_id = t.action_id and attempt_no = t.attempt_no;
  update waybill.replicas set active_assignments = active_assignments - 1, unknown_failures = 0,
      circuit_open_until = null
    where replica_id = t.replica_id;
  insert into waybill.artifacts (tenant_id, sha256, content, of_delivery)
    values (t.tenant_id, sha256(p_result), p_result, false) on conflict do nothing;
  update waybill.actions set result_outcome = 'succeeded', result_sha256 = sha256(p_result),
      error_code = null, state = 'completed', version = version + 1, closed_at = clock_timestamp(),
      attend_at = null, uncertain = false, repeatable = false, waiting_since = null,
      reason = null, detail = null, receipt_seq = 1, receipt_digest = p_receipt->>'digest'
    where tenant_id = t.tenant_id and action_id = t.action_id;
  insert into waybill.receipts (tenant_id, subject, seq, kind, jws, digest, previous_digest)
    values (t.tenant_id, 'action/' || t.action_id, 1, p_receipt->>'kind', p_receipt->>'jws',
            p_receipt->>'digest', null);
  update waybill.quota_counters q set held = q.held - 1, released_at = clock_timestamp(),
      drain_ms = case when q.released_at is null then q.drain_ms else 0.8 * coalesce(q.drain_ms, 500)
        + 0.2 * least(30000, extract(epoch from clock_timestamp() - q.released_at) * 1000) end
    from unnest(p_scopes, p_keys) c(scope, key) where q.scope = c.scope and q.scope_key = c.key;
end
$$;

grant execute on all functions in schema floor to waybill_data;`;

/** The targets, chosen before the clock runs: the replicas of the tenant in turn. */
const TARGETS = `
  select a."actionId", x.replica_id as "replicaId", f.fence::text,
      row(a."tenantId", a."actionId", a."capabilityId", x.connector_id, x.instance_id, x.version,
        v.manifest_digest, x.replica_id, x.endpoint, x.peer_principal_id, x.peer_principal_kind,
        x.peer_did, x.trust_domain, x.transport_profile, x.region, x.zone, x.capacity_class,
        g.revision, b.policy_revision, b.credential_revision, b.quota_policy_id, clock_timestamp(),
        f.fence, 1, null)::waybill.routes::text as route,
      row(a."tenantId", a."actionId", 1, 'action/' || a."tenantId" || '/' || a."actionId", f.fence,
        x.replica_id, x.incarnation, x.health_revision, false, (
          select jsonb_agg(jsonb_build_object('scope', c.scope, 'key', c.key) order by c.nth)
            from unnest(k.scopes, k.keys) with ordinality c(scope, key, nth)),
        clock_timestamp(), clock_timestamp() + make_interval(secs => ${HOLD_MS / 1000}),
        null, null, null, null, '[]')::waybill.route_attempts::text as attempt,
      k.scopes, k.keys
    from jsonb_to_recordset($1)
      as a("tenantId" text, "actionId" text, "capabilityId" text, nth integer)
    join waybill.replicas x on x.replica_id = a."tenantId" || '-r' || a.nth % $2::integer
    join waybill.connector_versions v on v.connector_id = '${CONNECTOR}' and v.version = x.version
    join waybill.bindings b on b.tenant_id = a."tenantId" and b.capability_id = a."capabilityId"
    cross join waybill.catalog_revision g
    cross join lateral (select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint
      as fence) f
    cross join lateral (select array['binding', 'instance', 'tenant'] as scopes,
      array[a."tenantId" || '/${INSTANCE}/' || a."capabilityId", a."tenantId" || '/${INSTANCE}',
        a."tenantId"] as keys) k`;

export const floorStatements = {
  reserve: { name: 'floor_reserve', text: 'select floor.reserve($1, $2, $3, $4)' },
  close: { name: 'floor_close', text: 'select floor.close($1, $2, $3, $4, $5, $6)' },
} as const satisfies Record<string, Statement>;

interface Target {
  readonly actionId: string;
  readonly replicaId: string;
  readonly fence: string;
  readonly route: string;
  readonly attempt: string;
  readonly scopes: readonly string[];
  readonly keys: readonly string[];
}

/** Takes binding, instance and tenant quotas, as a site with these three does. */
export async function floorHands({ database, shape }: Site, db: Database): Promise<Hands> {
  await database.run(FLOOR);
  const targets = new Map<string, Target>();
  const targetOf = (actionId: string): Target => {
    const target = targets.get(actionId);
    if (target === undefined) throw new Error(`nothing was prepared for ${actionId}`);
    return target;
  };
  return {
    async prepare(asks) {
      const rows = await database.rows(TARGETS, [JSON.stringify(asks), shape.replicas]);
      for (const row of rows) targets.set(String(row['actionId']), row as unknown as Target);
    },
    async reserve({ tenantId, actionId }: Ask): Promise<Held> {
      const { route, attempt, scopes, keys, fence, replicaId } = targetOf(actionId);
      await db.query(floorStatements.reserve, [route, attempt, scopes, keys]);
      return { tenantId, actionId, fence: Number(fence), replicaId };
    },
    async close({ actionId }: Held) {
      const { attempt, scopes, keys } = targetOf(actionId);
      targets.delete(actionId);
      const given = [JSON.stringify(CLOSE.evidence), resultOf(actionId), firstReceiptText()];
      await db.query(floorStatements.close, [attempt, scopes, keys, ...given]);
      return 'closed';
    },
  };
}
