-- The express lane: a loop makes the first attempt of what subscriptions of that lane accept. To claim is to
-- open that attempt (docs/decisions, 20).

-- Tenants with deliveries that wait for the loop, at most p_limit from behind p_after on. Across tenants: for
-- waybill_operations.
create function waybill.express_tenants(p_after text, p_limit integer) returns setof text language sql
begin atomic
  -- One index probe for each.
  with recursive waiting as (
    (select d.tenant_id from waybill.deliveries d
      where d.driver = 'loop' and d.state = 'Received' and d.tenant_id > p_after
      order by d.tenant_id limit 1)
    union all
    select n.tenant_id from waiting w cross join lateral (
      select d.tenant_id from waybill.deliveries d
        where d.driver = 'loop' and d.state = 'Received' and d.tenant_id > w.tenant_id
        order by d.tenant_id limit 1) n)
  select tenant_id from waiting limit p_limit;
end;

-- Opens an attempt for the loop, or gives the delivery to its workflow where that raises (broken: {error}):
-- there people see that it cannot be opened, and nothing else waits for it.
create function waybill.open_apart(p_tenant text, p_delivery uuid, p_owner text)
returns table (answer text, info jsonb, payload bytea) language plpgsql as $$
begin
  return query select * from waybill.open_attempt(p_tenant, p_delivery, p_owner, 'loop');
exception when others then
  update waybill.deliveries set driver = 'workflow', attend_at = clock_timestamp()
    where tenant_id = p_tenant and delivery_id = p_delivery;
  return query select 'broken', jsonb_build_object('error', sqlerrm), null::bytea;
end
$$;

-- Opens the first attempt of up to p_limit deliveries of a tenant that wait for the loop, oldest first, an
-- equal share of each subscription and then whatever there is; no more at a target than it and its tenant
-- have room for, and about 4 MiB of payloads: the others go on waiting, and where it is for room a row without
-- a delivery says `crowded`. Answers what open_attempt does of each; but of those that share a chain, first
-- that `chain` in a row without a delivery, and then of each that it is `ready`, with the facts and the opening
-- that open_ready answers. What is not opened is the workflow's now. p_apart: each by itself, as open_apart
-- does, which costs more; for when one of them has made the others fail.
create function waybill.claim_express(p_tenant text, p_owner text, p_limit integer, p_apart boolean)
returns table (delivery_id uuid, answer text, info json, payload bytea) language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  g record;
  taken record;
  v_left integer := p_limit;
  v_bytes bigint := 4 * 1024 * 1024;
  v_room integer;
  v_chain jsonb;
  v_crowded boolean := false;
  v_together boolean;
  -- Subscriptions of which more may wait than their share.
  v_more text[] := '{}';
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- Whoever opens attempts of the tenant counts under it: what is found to be free now stays so.
  perform pg_advisory_xact_lock(hashtextextended(format('waybill.in_flight/%s', p_tenant), 0));
  for g in
    with recursive waiting as (
      (select d.subscription_id from waybill.deliveries d
        where d.tenant_id = p_tenant and d.driver = 'loop' and d.state = 'Received'
        order by d.subscription_id limit 1)
      union all
      select n.subscription_id from waiting w cross join lateral (
        select d.subscription_id from waybill.deliveries d
          where d.tenant_id = p_tenant and d.driver = 'loop' and d.state = 'Received'
            and d.subscription_id > w.subscription_id
          order by d.subscription_id limit 1) n)
    select w.subscription_id, t.target_id, t.kind, t.max_in_flight, x.pass,
        case x.pass when 1 then greatest(1, p_limit / count(*) over (partition by x.pass)::integer)
          else p_limit end as share
      from waiting w
      join waybill.subscriptions s on s.tenant_id = p_tenant and s.subscription_id = w.subscription_id
      join waybill.targets t on t.tenant_id = p_tenant and t.target_id = s.target_id
      cross join (values (1), (2)) x (pass)
      -- Another order each time: whoever has much waiting does not always come first.
      order by x.pass, random()
  loop
    exit when v_left <= 0 or v_bytes <= 0;
    if g.pass = 2 and g.subscription_id <> all (v_more) then continue; end if;
    v_room := least(v_left, g.share);
    if g.kind = 'http' then
      v_room := least(v_room, g.max_in_flight - waybill.in_flight(p_tenant, g.target_id),
        (select s.tenant_in_flight from waybill.settings s) - waybill.tenant_in_flight(p_tenant));
    end if;
    if v_room <= 0 then
      v_crowded := true;
      continue;
    end if;
    -- Apart, nothing is looked at here that may raise.
    if not p_apart then v_chain := waybill.dispatch_chain(p_tenant, g.subscription_id); end if;
    with picked as materialized (
      select d.delivery_id as id, d.ctid, d.received_at, d.payload_bytes, d.payload_sha256 from waybill.deliveries d
        where d.tenant_id = p_tenant and d.subscription_id = g.subscription_id
          and d.driver = 'loop' and d.state = 'Received'
        order by d.received_at, d.delivery_id limit v_room for update skip locked
    ), summed as (
      select x.*, sum(x.payload_bytes) over (order by x.received_at, x.id) as until_here from picked x
    ), found as materialized (
      -- The one that reaches the bound is taken, too, so that a large one always is at some time.
      select x.*, c.content, sha256(c.content) = x.payload_sha256 as is_whole from summed x
        left join lateral (select r.content from waybill.artifacts r
          where not p_apart and r.tenant_id = p_tenant and r.sha256 = x.payload_sha256 limit 1) c on true
        where x.until_here - x.payload_bytes < v_bytes
    )
    select coalesce(sum(x.payload_bytes), 0) as bytes, count(*)::integer as count,
        coalesce(array_agg(x.id order by x.received_at, x.id), '{}') as ids,
        coalesce(array_agg(x.id order by x.received_at, x.id) filter (where x.is_whole), '{}') as whole,
        array_agg(x.ctid order by x.received_at, x.id) filter (where x.is_whole) as ctids,
        array_agg(x.content order by x.received_at, x.id) filter (where x.is_whole) as contents
      into taken
      from found x;
    v_left := v_left - taken.count;
    v_bytes := v_bytes - taken.bytes;
    if taken.count = g.share then v_more := v_more || g.subscription_id; end if;
    -- What nothing keeps from it is opened together; of all else open_attempt says what becomes of it, also
    -- where it goes to another target by now than the one that has room.
    v_together := not p_apart and taken.whole <> '{}' and v_chain->>'heldBy' is null and v_chain->>'broken' is null
      and v_chain->>'targetId' = g.target_id and waybill.is_clear(p_tenant, g.target_id);
    if v_together then
      return query select null::uuid, 'chain', v_chain::json, null::bytea;
      return query
        select o.id, 'ready', json_build_object('facts', o.facts, 'opening', o.opening), c.content
          from waybill.open_ready(p_tenant, taken.ctids, p_owner, v_chain, waybill.attempt_deadline(v_chain)) o
          join unnest(taken.whole, taken.contents) c (id, content) on c.id = o.id;
    end if;
    if p_apart then
      return query select i.id, o.answer, o.info::json, o.payload
        from unnest(taken.ids) i (id) cross join lateral waybill.open_apart(p_tenant, i.id, p_owner) o;
    elsif not v_together or taken.count > cardinality(taken.whole) then
      return query select i.id, o.answer, o.info::json, o.payload
        from unnest(taken.ids) i (id) cross join lateral waybill.open_attempt(p_tenant, i.id, p_owner, 'loop') o
        where not v_together or i.id <> all (taken.whole);
    end if;
  end loop;
  if v_crowded then return query select null::uuid, 'crowded', null::json, null::bytea; end if;
end
$$;

-- An attempt that ended, as close_attempt takes it, and its place among those that are closed together.
create type waybill.closing as (nth integer, delivery_id uuid, attempt_no integer, close jsonb, receipt jsonb);

-- Closes attempts of a tenant, each {deliveryId, attempt, close, receipt} as close_attempt takes them, all of
-- them or none. Answers what that does of each, in their order.
create function waybill.close_attempts(p_tenant text, p_closings jsonb) returns jsonb language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  c waybill.closing;
  v_all waybill.closing[] := array(
    select row(x.nth, x.f->>'deliveryId', x.f->>'attempt', x.f->'close', nullif(x.f->'receipt', 'null'))::waybill.closing
      from jsonb_array_elements(p_closings) with ordinality x (f, nth)
      order by (x.f->>'deliveryId')::uuid, x.nth);
  v_ids uuid[];
  v_closes jsonb[];
  v_receipts jsonb[];
  v_nths integer[];
  v_answers jsonb[] := array_fill('{"answer": "closed"}'::jsonb, array[cardinality(v_all)]);
begin
  perform set_config('waybill.tenant', p_tenant, true);
  -- Everybody takes rows in the same order, as close_attempt does of one: deliveries, subscriptions that
  -- are paused, states of targets. Each kind by its id.
  perform from unnest(v_all) x
    cross join lateral (select from waybill.deliveries d
      where d.tenant_id = p_tenant and d.delivery_id = x.delivery_id for update) d;
  if p_closings @? '$[*].close ? (@.pauseSubscription == true)' then
    perform from waybill.subscriptions s
      where s.tenant_id = p_tenant and s.subscription_id = any (array(
        select (select d.subscription_id from waybill.deliveries d
            where d.tenant_id = p_tenant and d.delivery_id = x.delivery_id)
          from unnest(v_all) x where (x.close->>'pauseSubscription')::boolean))
      order by s.subscription_id for no key update;
  end if;
  -- What is acknowledged and changes nothing else is written together: its attempt is open, it continues the
  -- chain of receipts, and it leaves subscription and target as they are. The others one by one, and so is
  -- whatever else is said of the same delivery: the first counts.
  select array_agg(x.delivery_id order by x.nth), array_agg(x.close order by x.nth),
      array_agg(x.receipt order by x.nth), coalesce(array_agg(x.nth), '{}')
    into v_ids, v_closes, v_receipts, v_nths
    from (select distinct on (y.delivery_id) y.* from unnest(v_all) y order by y.delivery_id, y.nth) x
    cross join lateral (select a.target_id from waybill.delivery_attempts a
      where a.tenant_id = p_tenant and a.delivery_id = x.delivery_id and a.attempt_no = x.attempt_no
        and a.closed_at is null limit 1) a
    cross join lateral (select d as row from waybill.deliveries d
      where d.tenant_id = p_tenant and d.delivery_id = x.delivery_id and d.direction = 'inbound' limit 1) d
    where x.close->>'decision' = 'acknowledged' and not (x.close->>'pauseSubscription')::boolean
      and not waybill.chain_moved(d.row, x.receipt)
      and waybill.is_usual(p_tenant, a.target_id, x.close->>'targetHealth');
  if v_ids is not null then
    perform waybill.record_outcomes(p_tenant, v_ids, v_closes);
    perform waybill.settle_deliveries(p_tenant, 'Acknowledged', null, null, v_ids, v_receipts);
  end if;
  if cardinality(v_nths) < cardinality(v_all) then
    for c in select x.* from unnest(v_all) x
        left join lateral (select a.target_id from waybill.delivery_attempts a
          where a.tenant_id = p_tenant and a.delivery_id = x.delivery_id
            and a.attempt_no = x.attempt_no limit 1) a on true
      where x.nth <> all (v_nths)
      order by a.target_id, x.delivery_id, x.nth
    loop
      v_answers[c.nth] := waybill.close_attempt(p_tenant, c.delivery_id, c.attempt_no, c.close, c.receipt);
    end loop;
  end if;
  return to_jsonb(v_answers);
end
$$;

-- Claims deliveries that failed in the loop's hands and whose workflow nobody has started in time. Across
-- tenants: for waybill_operations.
create function waybill.claim_unshown(p_limit integer, p_push_ms integer)
returns table (tenant_id text, delivery_id uuid, state text, connector_id text, event_type text,
               subscription_id text, wake boolean) language sql
begin atomic
  with due as materialized (
    select d.tenant_id, d.delivery_id from waybill.deliveries d
      where d.show_at <= clock_timestamp()
      order by d.show_at limit p_limit for update skip locked
  )
  update waybill.deliveries d
    set show_at = clock_timestamp() + make_interval(secs => p_push_ms / 1000.0)
    from due where d.tenant_id = due.tenant_id and d.delivery_id = due.delivery_id
    returning d.tenant_id, d.delivery_id, d.state, d.connector_id, d.event_type, d.subscription_id, false;
end;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant update (show_at) on waybill.deliveries to waybill_operations;
grant execute on function
  waybill.express_tenants(text, integer),
  waybill.claim_unshown(integer, integer)
  to waybill_operations;
grant execute on function
  waybill.open_apart(text, uuid, text),
  waybill.claim_express(text, text, integer, boolean),
  waybill.close_attempts(text, jsonb)
  to waybill_data;
