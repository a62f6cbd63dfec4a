-- Retention of deliveries: payloads, then rows, by what became of each and by tenant. Receipts outlive both.

-- What is over, the longest first.
create index deliveries_settled on waybill.deliveries (tenant_id, state, settled_at) where settled_at is not null;

-- Up to when the payloads of a tenant's deliveries in a state were let go.
create table waybill.payload_marks (
  tenant_id text not null,
  state text not null,
  through timestamptz not null,
  -- Of those that ended at that instant, up to this one.
  through_id uuid not null default '00000000-0000-0000-0000-000000000000',
  primary key (tenant_id, state)
);

-- A delivery that is duplicated has the first one's bytes, or in conflict its own.
create function waybill.payload_kept_until(p_tenant text, p_state text, p_settled_at timestamptz)
  returns timestamptz language sql stable
  return case when p_settled_at is null then 'infinity'
    when p_state = 'Rejected' then '-infinity'
    else p_settled_at + make_interval(days => least(
      waybill.retention_days(p_tenant, case p_state when 'Acknowledged' then 'acknowledgedPayloadDays'
        when 'Failed' then 'failedPayloadDays' else 'deduplicatedDays' end),
      waybill.retention_days(p_tenant, lower(p_state) || 'Days'))) end;

-- Whether a delivery has these bytes and may still want them: it is live, or its payload's time is not over.
create function waybill.delivery_needs(p_tenant text, p_sha256 bytea) returns boolean language sql stable
  return exists (select from waybill.deliveries d where d.tenant_id = p_tenant and d.payload_sha256 = p_sha256
    and waybill.payload_kept_until(d.tenant_id, d.state, d.settled_at) > clock_timestamp());

-- From now on nobody is known to have these bytes: they go in 24 h, unless somebody has them after all.
create function waybill.let_go(p_tenant text, p_sha256 bytea[]) returns void language sql
begin atomic
  update waybill.artifacts k set release_at = clock_timestamp() + interval '24 hours'
    where k.tenant_id = p_tenant and k.sha256 = any (p_sha256) and k.release_at is null;
end;

-- One batch of at most p_limit payloads of a tenant's deliveries in one state. Answers how many it has looked at.
create function waybill.retain_payloads(p_tenant text, p_state text, p_limit integer) returns integer
  language plpgsql as $$
declare
  v_from waybill.payload_marks;
  v_until timestamptz;
  v_last waybill.payload_marks;
  v_bytes bytea[];
  v_count integer;
begin
  select * into v_from from waybill.payload_marks m where m.tenant_id = p_tenant and m.state = p_state;
  -- What was settled before this is over.
  v_until := clock_timestamp()
    - (waybill.payload_kept_until(p_tenant, p_state, 'epoch') - 'epoch'::timestamptz);
  -- The instant alone first: what the index is entered with.
  with due as materialized (
    select d.settled_at, d.delivery_id, d.payload_sha256 from waybill.deliveries d
      where d.tenant_id = p_tenant and d.state = p_state
        and d.settled_at >= coalesce(v_from.through, '-infinity') and d.settled_at < v_until
        and (v_from.through is null or (d.settled_at, d.delivery_id) > (v_from.through, v_from.through_id))
      order by d.settled_at, d.delivery_id limit p_limit
  ), last as (select due.settled_at, due.delivery_id from due order by 1 desc, 2 desc limit 1)
  select (select count(*) from due), (select array_agg(due.payload_sha256) from due),
      (select last.settled_at from last), (select last.delivery_id from last)
    into v_count, v_bytes, v_last.through, v_last.through_id;
  if v_count > 0 then perform waybill.let_go(p_tenant, v_bytes); end if;
  if v_count < p_limit then
    v_last.through := v_until;
    v_last.through_id := '00000000-0000-0000-0000-000000000000';
  end if;
  insert into waybill.payload_marks as m (tenant_id, state, through, through_id)
    values (p_tenant, p_state, v_last.through, v_last.through_id)
    on conflict (tenant_id, state) do update set through = excluded.through, through_id = excluded.through_id
      where (excluded.through, excluded.through_id) > (m.through, m.through_id);
  return v_count;
end
$$;

-- One batch of at most p_limit of a tenant's deliveries in one state, with their attempts, dedup key and rejected
-- bytes. One whose dedup key still counts stays: a repeat is to name it. What somebody has locked is left for the
-- next batch.
create function waybill.retain_deliveries(p_tenant text, p_state text, p_limit integer) returns integer
  language plpgsql as $$
declare
  v_gone waybill.deliveries[];
begin
  with due as materialized (
    select d as delivery from waybill.deliveries d
      where d.tenant_id = p_tenant and d.state = p_state and d.settled_at < clock_timestamp()
          - make_interval(days => waybill.retention_days(p_tenant, lower(p_state) || 'Days'))
        -- An idempotency key counts for at least so long: longer than any approval of it, which may come from a
        -- clock that is a minute ahead.
        and (d.direction = 'inbound' or d.settled_at < clock_timestamp() - interval '30 days 1 hour')
        and not exists (select from waybill.dedup_keys k where k.tenant_id = d.tenant_id
          and k.subscription_id = d.subscription_id and k.dedup_key = d.dedup_key
          and k.delivery_id = d.delivery_id and k.expires_at > clock_timestamp())
      order by d.settled_at limit p_limit for update of d skip locked
  )
  select coalesce(array_agg(due.delivery), '{}') into v_gone from due;
  delete from waybill.dedup_keys k using unnest(v_gone) g where k.tenant_id = g.tenant_id
    and k.subscription_id = g.subscription_id and k.dedup_key = g.dedup_key and k.delivery_id = g.delivery_id
    and k.expires_at <= clock_timestamp();
  delete from waybill.rejected_payloads p using unnest(v_gone) g
    where p.tenant_id = g.tenant_id and p.delivery_id = g.delivery_id;
  delete from waybill.delivery_attempts t using unnest(v_gone) g
    where t.tenant_id = g.tenant_id and t.delivery_id = g.delivery_id;
  delete from waybill.deliveries d using unnest(v_gone) g
    where d.tenant_id = g.tenant_id and d.delivery_id = g.delivery_id;
  perform waybill.let_go(p_tenant, array(select g.payload_sha256 from unnest(v_gone) g));
  return cardinality(v_gone);
end
$$;

-- Tenants after p_after that have deliveries, in order.
create function waybill.delivery_tenants(p_after text, p_limit integer) returns setof text
  language plpgsql stable as $$
declare
  v_tenant text := p_after;
begin
  for i in 1..p_limit loop
    select d.tenant_id into v_tenant from waybill.deliveries d where d.tenant_id > v_tenant
      order by d.tenant_id limit 1;
    exit when not found;
    return next v_tenant;
  end loop;
end
$$;

alter table waybill.payload_marks enable row level security;
create policy across_tenants on waybill.payload_marks to waybill_operations using (true);
grant select, insert, update on waybill.payload_marks to waybill_operations;
grant delete on waybill.deliveries to waybill_operations;
grant delete on waybill.delivery_attempts to waybill_operations;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.payload_kept_until(text, text, timestamptz),
  waybill.delivery_needs(text, bytea),
  waybill.let_go(text, bytea[]),
  waybill.retain_payloads(text, text, integer),
  waybill.retain_deliveries(text, text, integer),
  waybill.delivery_tenants(text, integer)
  to waybill_operations;
