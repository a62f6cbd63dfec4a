/**
 * What the ledger says against what is counted, by a query of the tests' own: the product's audit is
 * under test elsewhere. One statement, so that it is true of one instant also while others write.
 */
import type { TestDatabase } from './test-database';

/**
 * Counters that differ from the open attempts: of every quota scope, and of every replica its
 * assignments and probes. Actions with two open attempts, and with fences out of order.
 */
export function imbalance(db: Pick<TestDatabase, 'rows'>): Promise<unknown[]> {
  return db.rows(
    `with held as (
        select c->>'scope' as scope, c->>'key' as key, count(*)::integer as open
          from waybill.route_attempts t cross join jsonb_array_elements(t.counters) c
          where t.settled_at is null group by 1, 2)
      select 'counter ' || coalesce(q.scope, h.scope) as what, q.held as has, h.open as should
        from waybill.quota_counters q
        full join held h on h.scope = q.scope and h.key = q.scope_key
        where coalesce(q.held, 0) <> coalesce(h.open, 0)
      union all
      select r.replica_id, r.active_assignments, count(t.*)::integer
        from waybill.replicas r left join waybill.route_attempts t
          on t.replica_id = r.replica_id and t.settled_at is null
        group by r.replica_id
        having r.active_assignments <> count(t.*) or r.probes <> count(*) filter (where t.probe)
      union all
      select 'open attempts of ' || t.action_id, count(*)::integer, 1
        from waybill.route_attempts t where t.settled_at is null
        group by t.tenant_id, t.action_id having count(*) > 1
      union all
      select 'fence of ' || t.action_id, t.attempt_no, null
        from waybill.route_attempts t join waybill.routes r using (tenant_id, action_id)
        where t.fence > r.fence or exists (select from waybill.route_attempts b
          where b.tenant_id = t.tenant_id and b.action_id = t.action_id
            and b.attempt_no < t.attempt_no and b.fence >= t.fence)`,
  );
}

/**
 * Makes the database refuse what must never be, at the moment of the increment: more held than the
 * limit of the deployment's only quota policy, or more assigned than the capacity.
 */
export async function forbidOverbooking(db: Pick<TestDatabase, 'rows'>): Promise<void> {
  await db.rows(`
    create function waybill.test_quota() returns trigger language plpgsql security definer as $$
    declare
      v_limit integer := (select (to_jsonb(q) ->> (new.scope || '_limit'))::integer
        from waybill.quota_policies q);
    begin
      if new.held > coalesce(old.held, 0) and new.held > v_limit then
        raise exception 'overbooked: % of % in %', new.held, v_limit, new.scope;
      end if;
      return new;
    end $$;
    create trigger test_quota before insert or update on waybill.quota_counters
      for each row execute function waybill.test_quota();
    create function waybill.test_capacity() returns trigger language plpgsql as $$
    begin
      raise exception 'overbooked: % of % on %', new.active_assignments, new.capacity, new.replica_id;
    end $$;
    create trigger test_capacity before update on waybill.replicas for each row
      when (new.active_assignments > old.active_assignments
        and new.active_assignments > new.capacity)
      execute function waybill.test_capacity();
    grant execute on function waybill.test_quota(), waybill.test_capacity() to public`);
}
