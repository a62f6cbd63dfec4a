-- Receiving: find the ingress, then store payload, dedup key and delivery in one transaction.

-- The one look-up that has no tenant yet: runs with its owner's rights, by exact reference.
create function waybill.find_ingress(p_ingress_ref text) returns jsonb
  language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select jsonb_build_object(
    'tenantId', g.tenant_id,
    'subscriptionId', s.subscription_id,
    'connectorId', i.connector_id,
    'instanceId', i.instance_id,
    'state', case
      when g.is_over or s.state = 'deactivated' or i.status = 'revoked' or v.status = 'revoked' then 'deactivated'
      -- Switched off for a while: collect, so that nothing is lost.
      when i.status = 'disabled' or not c.enabled then 'paused'
      else s.state end,
    'eventTypes', to_jsonb(s.event_types),
    'scheme', v.webhook_scheme,
    'secrets', g.secrets,
    -- By name, as a later migration adds the column.
    'config', to_jsonb(i) -> 'config',
    'bodyLimitBytes', g.body_limit_bytes)
  from (
    select c.tenant_id, c.subscription_id, c.secrets, c.body_limit_bytes, false as is_over
      from waybill.ingresses c where c.ingress_ref = p_ingress_ref
    union all
    select c.tenant_id, c.subscription_id, c.secrets, c.body_limit_bytes,
        o.valid_until <= clock_timestamp()
      from waybill.retired_ingresses o join waybill.ingresses c using (tenant_id, subscription_id)
      where o.ingress_ref = p_ingress_ref) g
  join waybill.subscriptions s using (tenant_id, subscription_id)
  join waybill.instances i using (tenant_id, instance_id)
  join waybill.connector_versions v using (connector_id, version)
  join waybill.connectors c using (connector_id)
  -- A reference is never both, and if it were: what it is now.
  order by g.is_over limit 1;
end;

-- Stores bytes once per tenant.
create function waybill.keep_artifact(p_tenant text, p_sha256 bytea, p_content bytea) returns void
  language sql
begin atomic
  insert into waybill.artifacts (tenant_id, sha256, content)
    values (p_tenant, p_sha256, p_content)
    on conflict do nothing;
end;

-- What was accepted under a key within the window before or after an instant, as the key that it had then:
-- keys are forgotten, and what is readmitted is judged as of its receipt. Null: nothing was.
create function waybill.accepted_around(
  p_tenant text, p_subscription text, p_key text, p_at timestamptz, p_window interval
) returns waybill.dedup_keys language sql stable
begin atomic
  select d.tenant_id, d.subscription_id, d.dedup_key, d.delivery_id, d.payload_sha256, r.at + p_window
    from waybill.deliveries d
    left join waybill.deliveries o on o.tenant_id = d.tenant_id and o.delivery_id = d.readmitted_from
    cross join lateral (select coalesce(o.received_at, d.received_at) as at) r
    -- By the index of external ids: a key is one of them.
    where d.tenant_id = p_tenant and d.external_id = p_key and d.dedup_key = p_key
      and d.subscription_id = p_subscription and d.state not in ('Rejected', 'Deduplicated')
      and r.at > p_at - p_window and r.at < p_at + p_window
    order by r.at limit 1;
end;

-- A verified request on its way into the tables.
create type waybill.arrival as (
  place integer,
  delivery_id uuid,
  subscription_id text,
  dedup_key text,
  fields jsonb,
  payload bytea,
  sha256 bytea,
  skew_ms bigint,
  outcome text,
  first_delivery_id uuid
);

-- Stores verified requests of one tenant in one transaction, all of them or none. Answers an array in
-- their order, each {outcome, deliveryId, firstDeliveryId, receivedAt, lane, told} or {outcome, deliveryId,
-- skewMs}; told: the commit holds something for the loop of the express lane and tells it, as p_tell asks for.
--   accepted   a delivery was born Received;
--   duplicate  the key was seen within the window: born Deduplicated, names the first;
--   conflict   the same with other bytes;
--   stale      the signed instant is outside the tolerance as of receipt: born Rejected, no key.
-- Everybody takes the rows that others may wait for in the same order, so that nobody waits in a circle:
-- keys, then payloads, then subscriptions, each of them sorted.
create function waybill.ingest_deliveries(
  p_tenant text,
  p_items jsonb,        -- each deliveryId, subscriptionId, attendAfterMs, payloadBytes, connectorId,
                        -- instanceId, externalId, eventType, dedupKey, contentType, keptHeaders,
                        -- evidence, signedAtMs, toleranceMs, aheadMs, retryHorizonS;
                        -- recordStale: false where a stale one leaves no row, as its sender has had
                        -- too many; of one that is readmitted: readmittedFrom, judgedAt, and the
                        -- earlierId that its key had then, with earlierSame for the same bytes
  p_payloads bytea,     -- of all of them, one after the other
  p_tell boolean default false
) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  v_window interval;
  v_all waybill.arrival[];
  v_taken integer;
  v_express uuid[];
  v_told boolean;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  v_now := clock_timestamp();
  select make_interval(mins => s.replay_window_minutes) into v_window from waybill.settings s;
  select array_agg(row(x.place, x.f->>'deliveryId', x.f->>'subscriptionId', x.f->>'dedupKey', x.f,
        x.payload, sha256(x.payload), x.skew_ms,
        case when x.skew_ms > (x.f->>'toleranceMs')::bigint or -x.skew_ms > (x.f->>'aheadMs')::bigint
            then 'stale'
          when x.f->>'earlierId' is null then 'accepted'
          when (x.f->>'earlierSame')::boolean then 'duplicate' else 'conflict' end,
        x.f->>'earlierId')::waybill.arrival)
    into v_all
    from (
      select i.place, i.f,
          substring(p_payloads
            from (sum((i.f->>'payloadBytes')::integer) over (order by i.place)
              - (i.f->>'payloadBytes')::integer + 1)::integer
            for (i.f->>'payloadBytes')::integer) as payload,
          (extract(epoch from coalesce((i.f->>'judgedAt')::timestamptz, v_now)) * 1000
            - (i.f->>'signedAtMs')::numeric)::bigint as skew_ms
        from jsonb_array_elements(p_items) with ordinality i (f, place)
    ) x;

  -- A concurrent copy waits here for the first one's commit, then meets its row.
  insert into waybill.dedup_keys as k
      (tenant_id, subscription_id, dedup_key, delivery_id, payload_sha256, expires_at)
    select distinct on (a.subscription_id, a.dedup_key)
           p_tenant, a.subscription_id, a.dedup_key, a.delivery_id, a.sha256,
           clock_timestamp() + greatest(v_window,
             -- Not shorter than the vendor sends it again.
             make_interval(secs => (a.fields->>'retryHorizonS')::integer))
      from unnest(v_all) a where a.outcome = 'accepted'
      order by a.subscription_id, a.dedup_key, a.place
    on conflict (tenant_id, subscription_id, dedup_key) do update
      set delivery_id = excluded.delivery_id, payload_sha256 = excluded.payload_sha256,
          expires_at = excluded.expires_at
      where k.expires_at <= clock_timestamp();
  get diagnostics v_taken = row_count;
  if v_taken < cardinality(v_all) then
    v_all := waybill.judge_arrivals(p_tenant, v_all);
  end if;

  perform waybill.keep_artifact(p_tenant, x.sha256, x.payload)
    from (select distinct on (a.sha256) a.sha256, a.payload
            from unnest(v_all) a where a.outcome in ('accepted', 'conflict') order by a.sha256) x;
  with born as (
    insert into waybill.deliveries
      (tenant_id, delivery_id, direction, connector_id, instance_id, subscription_id, external_id,
       event_type, dedup_key, state, payload_sha256, payload_bytes, content_type, kept_headers,
       evidence, duplicate_of, readmitted_from, conflict, received_at, settled_at, attend_at, lane, driver)
    select p_tenant, a.delivery_id, 'inbound', a.fields->>'connectorId', a.fields->>'instanceId',
           a.subscription_id, a.fields->>'externalId', a.fields->>'eventType', a.dedup_key,
           case a.outcome when 'accepted' then 'Received' else 'Deduplicated' end,
           a.sha256, length(a.payload), a.fields->>'contentType',
           coalesce(a.fields->'keptHeaders', '[]'::jsonb),
           a.fields->'evidence' || jsonb_build_object('skewMs', a.skew_ms),
           a.first_delivery_id, (a.fields->>'readmittedFrom')::uuid, a.outcome = 'conflict', v_now,
           case when a.outcome <> 'accepted' then v_now end,
           case when a.outcome = 'accepted'
             then v_now + make_interval(secs => (a.fields->>'attendAfterMs')::integer / 1000.0) end,
           coalesce(s.lane, 'durable'),
           case when a.outcome = 'accepted' and s.lane = 'express' then 'loop' else 'workflow' end
      from unnest(v_all) a
      left join waybill.subscriptions s on s.tenant_id = p_tenant and s.subscription_id = a.subscription_id
      where a.outcome <> 'stale'
      returning delivery_id, lane, driver
  )
  select coalesce(array_agg(b.delivery_id) filter (where b.lane = 'express'), '{}'),
      p_tell and coalesce(bool_or(b.driver = 'loop'), false)
    into v_express, v_told from born b;
  if v_told then perform pg_notify('waybill_express', p_tenant); end if;
  -- At most once a minute, and whoever finds it taken leaves it to that one: a burst must not queue
  -- on the subscription's row.
  with seen as (
    select s.subscription_id from waybill.subscriptions s
      where s.tenant_id = p_tenant
        and s.subscription_id in
          (select a.subscription_id from unnest(v_all) a where a.outcome <> 'stale')
        and (s.last_delivery_at is null or s.last_delivery_at < v_now - interval '1 minute')
      for no key update skip locked
  )
  update waybill.subscriptions s set last_delivery_at = v_now
    from seen where s.tenant_id = p_tenant and s.subscription_id = seen.subscription_id;
  return (
    select jsonb_agg(case a.outcome
        when 'stale' then jsonb_build_object('outcome', a.outcome, 'deliveryId', a.delivery_id,
          'skewMs', a.skew_ms)
        else jsonb_build_object('outcome', a.outcome, 'deliveryId', a.delivery_id,
          'firstDeliveryId', coalesce(a.first_delivery_id, a.delivery_id), 'receivedAt', v_now,
          'lane', case when a.delivery_id = any (v_express) then 'express' else 'durable' end,
          'told', v_told) end
      order by a.place)
      from unnest(v_all) a);
end
$$;

-- The arrivals with what became of each, where not every one of them has taken its key. Those that came
-- too late are stored as rejected, unless they have their row already or are not to have one.
create function waybill.judge_arrivals(p_tenant text, p_all waybill.arrival[])
returns waybill.arrival[] language plpgsql as $$
declare
  v_judged waybill.arrival[];
begin
  perform waybill.store_rejected(p_tenant, a.delivery_id, a.subscription_id, a.payload,
      a.fields || jsonb_build_object('reason', 'signature_stale', 'detail',
        format('signed %s ms before receipt', a.skew_ms)))
    from unnest(p_all) a
    where a.outcome = 'stale' and a.fields->>'readmittedFrom' is null
      and coalesce((a.fields->>'recordStale')::boolean, true);
  select array_agg(case
        when a.outcome <> 'accepted' or k.delivery_id = a.delivery_id then a
        else row(a.place, a.delivery_id, a.subscription_id, a.dedup_key, a.fields, a.payload, a.sha256,
          a.skew_ms, case k.payload_sha256 when a.sha256 then 'duplicate' else 'conflict' end,
          k.delivery_id)::waybill.arrival end)
    into v_judged
    from unnest(p_all) a
    -- One by one through the index, however few keys the planner believes that there are.
    left join lateral (
      select x.delivery_id, x.payload_sha256 from waybill.dedup_keys x
        where x.tenant_id = p_tenant and x.subscription_id = a.subscription_id
          and x.dedup_key = a.dedup_key
        limit 1) k on a.outcome = 'accepted';
  if exists (
    select from unnest(v_judged) a where a.outcome in ('duplicate', 'conflict') and a.first_delivery_id is null
  ) then
    raise exception 'a dedup key was forgotten this moment' using errcode = 'serialization_failure';
  end if;
  return v_judged;
end
$$;

-- Records a request whose signature was refused. Its bytes are kept for settings'
-- rejected_bytes_minutes, within a bound; it takes no dedup key and starts nothing.
create function waybill.store_rejected(
  p_tenant text,
  p_delivery uuid,
  p_subscription text,
  p_payload bytea,
  p_fields jsonb        -- connectorId, instanceId, externalId, eventType, contentType, keptHeaders,
                        -- evidence, reason, detail, request
) returns void language plpgsql as $$
declare
  v_sha bytea := sha256(p_payload);
  v_now timestamptz := clock_timestamp();
  v_size integer :=
    length(p_payload) + coalesce(octet_length(nullif(p_fields->'request', 'null')::text), 0);
begin
  perform set_config('waybill.tenant', p_tenant, true);
  insert into waybill.deliveries
      (tenant_id, delivery_id, direction, connector_id, instance_id, subscription_id, external_id,
       event_type, state, payload_sha256, payload_bytes, content_type, kept_headers, evidence,
       reason, detail, received_at, settled_at)
    values
      (p_tenant, p_delivery, 'inbound', p_fields->>'connectorId', p_fields->>'instanceId',
       p_subscription, p_fields->>'externalId', p_fields->>'eventType', 'Rejected', v_sha,
       length(p_payload), p_fields->>'contentType', coalesce(p_fields->'keptHeaders', '[]'::jsonb),
       coalesce(p_fields->'evidence', '{}'::jsonb), p_fields->>'reason', p_fields->>'detail',
       v_now, v_now);
  -- Anybody can send these: past 64 MiB of a tenant, or 16 of a subscription, so that a flood at one
  -- leaves room for the others, the row still tells of the request, without bytes.
  -- An empty body counts, too, so that the number of rows is bounded.
  insert into waybill.rejected_payloads
      (tenant_id, delivery_id, subscription_id, content, request, size_bytes, expires_at)
    select p_tenant, p_delivery, p_subscription, p_payload, nullif(p_fields->'request', 'null'), greatest(v_size, 4096),
           v_now + make_interval(mins => s.rejected_bytes_minutes)
      from waybill.settings s
      where (select coalesce(sum(r.size_bytes), 0) + v_size <= 64 * 1024 * 1024
            and coalesce(sum(r.size_bytes) filter (where r.subscription_id = p_subscription), 0)
              + v_size <= 16 * 1024 * 1024
          from waybill.rejected_payloads r where r.tenant_id = p_tenant);
end
$$;

-- A rejected delivery as it can be judged again. Answers {answer}: unknown_delivery | not_rejected (with
-- its state) | already_readmitted (with the deliveryId that it became) | gone (its bytes are forgotten,
-- or what it was signed by was never kept) | kept, with receivedAtMs, request, and the content.
create function waybill.read_rejected(p_tenant text, p_delivery uuid)
returns table (answer jsonb, content bytea) language plpgsql as $$
declare
  d waybill.deliveries;
  p waybill.rejected_payloads;
  v_became uuid;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries where tenant_id = p_tenant and delivery_id = p_delivery;
  if not found then
    return query select jsonb_build_object('answer', 'unknown_delivery'), null::bytea; return;
  end if;
  if d.state <> 'Rejected' then
    return query select jsonb_build_object('answer', 'not_rejected', 'state', d.state), null::bytea; return;
  end if;
  select x.delivery_id into v_became from waybill.deliveries x
    where x.tenant_id = p_tenant and x.readmitted_from = p_delivery;
  if found then
    return query select jsonb_build_object('answer', 'already_readmitted', 'deliveryId', v_became),
      null::bytea; return;
  end if;
  select * into p from waybill.rejected_payloads r
    where r.tenant_id = p_tenant and r.delivery_id = p_delivery
      and r.request is not null and r.expires_at > clock_timestamp();
  if not found then
    return query select jsonb_build_object('answer', 'gone'), null::bytea; return;
  end if;
  return query select jsonb_build_object('answer', 'kept', 'request', p.request,
    'receivedAtMs', floor(extract(epoch from d.received_at) * 1000)), p.content;
end
$$;

-- Makes a new delivery of a rejected one's bytes, once they were verified; judged as of its receipt.
-- Answers as ingest_deliveries does of each, or {outcome: already_readmitted, deliveryId}, or {outcome: gone}.
create function waybill.readmit_delivery(
  p_tenant text, p_rejected uuid, p_delivery uuid,
  p_fields jsonb        -- as of ingest_deliveries, and by, why: who asked for it and the reason
) returns jsonb language plpgsql as $$
declare
  d waybill.deliveries;
  v_content bytea;
  v_became uuid;
  v_earlier waybill.dedup_keys;
  v_answer jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- Two at once wait for each other here.
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = p_rejected and state = 'Rejected' for update;
  select x.delivery_id into v_became from waybill.deliveries x
    where x.tenant_id = p_tenant and x.readmitted_from = p_rejected;
  if found then
    return jsonb_build_object('outcome', 'already_readmitted', 'deliveryId', v_became);
  end if;
  select r.content into v_content from waybill.rejected_payloads r
    where r.tenant_id = p_tenant and r.delivery_id = p_rejected;
  if v_content is null or d.delivery_id is null then
    return jsonb_build_object('outcome', 'gone');
  end if;
  select e.* into v_earlier from waybill.settings s
    cross join lateral waybill.accepted_around(p_tenant, d.subscription_id, p_fields->>'dedupKey',
      d.received_at, greatest(make_interval(mins => s.replay_window_minutes),
        make_interval(secs => (p_fields->>'retryHorizonS')::integer))) e;
  v_answer := waybill.ingest_deliveries(p_tenant, jsonb_build_array(p_fields || jsonb_build_object(
      'deliveryId', p_delivery, 'subscriptionId', d.subscription_id, 'payloadBytes', length(v_content),
      'readmittedFrom', p_rejected, 'judgedAt', d.received_at, 'earlierId', v_earlier.delivery_id,
      'earlierSame', v_earlier.payload_sha256 = sha256(v_content))), v_content)->0;
  if v_answer->>'outcome' <> 'stale' then
    insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
      values (p_tenant, p_fields->>'by', 'readmit', 'delivery/' || p_rejected,
              jsonb_build_object('reason', p_fields->>'why', 'deliveryId', p_delivery));
  end if;
  return v_answer;
end
$$;

-- Forgets rejected requests' bytes and dedup keys whose time is over, in bounded batches.
create function waybill.forget_expired(p_limit integer) returns jsonb language plpgsql as $$
declare
  v_payloads integer;
  v_keys integer;
  v_answers integer;
begin
  with expired as materialized (
    select p.tenant_id, p.delivery_id from waybill.rejected_payloads p
      where p.expires_at < clock_timestamp()
      order by p.expires_at limit p_limit for update skip locked
  )
  delete from waybill.rejected_payloads p using expired e
    where p.tenant_id = e.tenant_id and p.delivery_id = e.delivery_id;
  get diagnostics v_payloads = row_count;
  with expired as materialized (
    select k.tenant_id, k.subscription_id, k.dedup_key from waybill.dedup_keys k
      where k.expires_at < clock_timestamp() - interval '1 minute'
      order by k.expires_at limit p_limit for update skip locked
  )
  delete from waybill.dedup_keys k using expired e
    where k.tenant_id = e.tenant_id and k.subscription_id = e.subscription_id
      and k.dedup_key = e.dedup_key;
  get diagnostics v_keys = row_count;
  with expired as materialized (
    select i.tenant_id, i.principal, i.route, i.idempotency_key from waybill.idempotency_keys i
      where i.expires_at < clock_timestamp()
      order by i.expires_at limit p_limit for update skip locked
  )
  delete from waybill.idempotency_keys i using expired e
    where i.tenant_id = e.tenant_id and i.principal = e.principal and i.route = e.route
      and i.idempotency_key = e.idempotency_key;
  get diagnostics v_answers = row_count;
  return jsonb_build_object('rejectedPayloads', v_payloads, 'dedupKeys', v_keys,
    'idempotencyKeys', v_answers);
end
$$;
