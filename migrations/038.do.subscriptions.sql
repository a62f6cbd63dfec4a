-- Subscriptions as their tenant sees them, and what follows from ending one.

alter table waybill.subscriptions
  -- It was deactivated, and what is pending of it may not know yet: a loop wakes that.
  add column wake_pending boolean not null default false;
create index subscriptions_to_wake on waybill.subscriptions (tenant_id, subscription_id) where wake_pending;

create function waybill.mark_to_wake() returns trigger language plpgsql as $$
begin
  new.wake_pending := true;
  return new;
end
$$;
-- Whoever ends it.
create trigger subscriptions_ended before update of state on waybill.subscriptions for each row
  when (new.state = 'deactivated' and old.state <> 'deactivated')
  execute function waybill.mark_to_wake();

alter table waybill.instances
  -- It was revoked, and what is being sent through it may not know yet.
  add column wake_pending boolean not null default false;
create index instances_to_wake on waybill.instances (tenant_id, instance_id) where wake_pending;
create trigger instances_revoked before update of status on waybill.instances for each row
  when (new.status = 'revoked' and old.status <> 'revoked')
  execute function waybill.mark_to_wake();

alter table waybill.connector_versions
  -- It was revoked, and what is pending of the instances on it may not know yet.
  add column wake_pending boolean not null default false;
create index versions_to_wake on waybill.connector_versions (connector_id, version) where wake_pending;
create trigger versions_revoked before update of status on waybill.connector_versions for each row
  when (new.status = 'revoked' and old.status <> 'revoked')
  execute function waybill.mark_to_wake();
-- What is being sent through a connection.
create index deliveries_being_sent on waybill.deliveries (tenant_id, instance_id)
  where direction = 'outbound' and attend_at is not null;

-- What connections were last told to be, so that what comes late or twice changes nothing.
create table waybill.connection_reports (
  tenant_id text not null,
  instance_id text not null,
  -- Grows with each change at whoever reports.
  version bigint not null check (version >= 1),
  state text not null check (state in ('enabled', 'disabled', 'revoked')),
  event_source text not null,
  event_id text not null,
  reported_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, instance_id),
  foreign key (tenant_id, instance_id) references waybill.instances
);
alter table waybill.connection_reports enable row level security;
create policy one_tenant on waybill.connection_reports to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy publication on waybill.connection_reports to waybill_control using (true);

-- The tenant's subscriptions by id, at most p_limit from behind p_after on, or the one named; as JSON.
-- Runs with its owner's rights: nobody else may list ingresses.
create function waybill.read_subscriptions(
  p_tenant text, p_subscription text, p_after text, p_limit integer
) returns setof jsonb
  language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
      'subscriptionId', s.subscription_id, 'instanceId', s.instance_id,
      'connectorId', i.connector_id, 'version', i.version,
      'targetId', s.target_id, 'eventTypes', to_jsonb(s.event_types),
      'state', s.state, 'pauseReason', s.pause_reason,
      'retry', s.retry_profile, 'lane', s.lane, 'drainPerSecond', s.drain_per_second::float8,
      'lastDeliveryAt', to_char(s.last_delivery_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
      'scheme', v.webhook_scheme->>'kind', 'signatureField', v.webhook_scheme->'signature'->>'name',
      'ingress', case when g.ingress_ref is not null then jsonb_build_object(
        'ref', g.ingress_ref, 'bodyLimitBytes', g.body_limit_bytes, 'secrets', g.secrets,
        'previous', (select coalesce(jsonb_agg(jsonb_build_object('ref', o.ingress_ref, 'until',
            to_char(o.valid_until at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
            'works', o.valid_until > clock_timestamp())
            order by o.valid_until desc, o.ingress_ref collate "C"), '[]')
          from waybill.retired_ingresses o where o.tenant_id = s.tenant_id
            and o.subscription_id = s.subscription_id)) end)
    from waybill.subscriptions s
    join waybill.instances i using (tenant_id, instance_id)
    join waybill.connector_versions v using (connector_id, version)
    left join waybill.ingresses g on g.tenant_id = s.tenant_id and g.subscription_id = s.subscription_id
    where s.tenant_id = p_tenant and (p_subscription is null or s.subscription_id = p_subscription)
      and (p_after is null or s.subscription_id collate "C" > p_after collate "C")
    order by s.subscription_id collate "C" limit p_limit;
end;

-- Has what is pending of ended subscriptions, being sent through revoked connections, and on revoked
-- connector versions looked at now, so that it fails with its reason instead of waiting for its next
-- attempt; at most p_limit of it. What is looked at within a minute anyway is left alone, and so is what has
-- an attempt open. A mark stays while somebody else has a row, or such an attempt may still be answered: that
-- may put the next one off for long. Across tenants: for waybill_operations. Answers how many.
create function waybill.wake_ended(p_limit integer) returns integer language plpgsql as $$
declare
  s record;
  v_left integer := p_limit;
  v_found integer;
  v_woken integer;
  v_open boolean;
begin
  -- Not at the publication itself: it would lock subscriptions while others route.
  for s in select connector_id, version from waybill.connector_versions where wake_pending
    order by connector_id, version limit 10 for no key update skip locked
  loop
    update waybill.instances set wake_pending = true
      where connector_id = s.connector_id and version = s.version;
    update waybill.subscriptions o set wake_pending = true from waybill.instances i
      where i.tenant_id = o.tenant_id and i.instance_id = o.instance_id
        and i.connector_id = s.connector_id and i.version = s.version;
    update waybill.connector_versions set wake_pending = false
      where connector_id = s.connector_id and version = s.version;
  end loop;
  for s in
    select o.tenant_id, o.subscription_id, null as instance_id from
      (select tenant_id, subscription_id from waybill.subscriptions where wake_pending
        order by tenant_id, subscription_id limit 100 for update skip locked) o
    union all
    select i.tenant_id, null, i.instance_id from
      (select tenant_id, instance_id from waybill.instances where wake_pending
        order by tenant_id, instance_id limit 100 for update skip locked) i
  loop
    exit when v_left <= 0;
    -- All of it as of one moment: an attempt is open, or its delivery among what is found. One branch each of
    -- what is received by a subscription and what is sent through an instance, for an index each.
    with found as materialized (
      select d.tenant_id, d.delivery_id from (
          select r.* from waybill.deliveries r
            -- Not to be looked for at all where there is none: the index is that of all that is under way.
            where s.subscription_id is not null
              and r.tenant_id = s.tenant_id and r.subscription_id = s.subscription_id
              and r.state in ('Received', 'Verified', 'Dispatched', 'Replayed')
          union all
          select r.* from waybill.deliveries r
            where r.tenant_id = s.tenant_id and r.instance_id = s.instance_id
              and r.direction = 'outbound' and r.attend_at is not null) d
        where d.attend_at > clock_timestamp() + interval '1 minute'
          and not exists (select from waybill.delivery_attempts a
            where a.tenant_id = d.tenant_id and a.delivery_id = d.delivery_id and a.closed_at is null)
        limit v_left
    ), pending as materialized (
      select d.tenant_id, d.delivery_id from found f
        join waybill.deliveries d on d.tenant_id = f.tenant_id and d.delivery_id = f.delivery_id
        where d.attend_at > clock_timestamp() + interval '1 minute' for update of d skip locked
    ), woken as (
      update waybill.deliveries d set gate = null, gated_at = null, reason = 'released', detail = null,
          attend_at = clock_timestamp()
        from pending p where d.tenant_id = p.tenant_id and d.delivery_id = p.delivery_id returning d.delivery_id
    )
    select (select count(*) from found), (select count(*) from woken), exists (
        select from waybill.delivery_attempts a
          join waybill.deliveries d on d.tenant_id = a.tenant_id and d.delivery_id = a.delivery_id
          where a.tenant_id = s.tenant_id and a.closed_at is null
            and a.deadline_at > clock_timestamp() - interval '1 minute'
            and (d.subscription_id = s.subscription_id
              or d.instance_id = s.instance_id and d.direction = 'outbound'))
      into v_found, v_woken, v_open;
    if v_found < v_left and v_woken = v_found and not v_open then
      update waybill.subscriptions set wake_pending = false
        where tenant_id = s.tenant_id and subscription_id = s.subscription_id;
      update waybill.instances set wake_pending = false
        where tenant_id = s.tenant_id and instance_id = s.instance_id;
    end if;
    v_left := v_left - v_woken;
  end loop;
  return p_limit - v_left;
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant update (wake_pending) on waybill.subscriptions, waybill.instances, waybill.connector_versions
  to waybill_operations;
grant execute on function waybill.wake_ended(integer) to waybill_operations;
grant execute on function waybill.mark_to_wake() to waybill_control;
grant execute on function waybill.read_subscriptions(text, text, text, integer) to waybill_data;
grant select on waybill.connection_reports to waybill_data, waybill_observer;
grant select, insert, update on waybill.connection_reports to waybill_control;
