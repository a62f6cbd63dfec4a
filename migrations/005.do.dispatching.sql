-- Dispatching: fenced attempts and settlement. One function an operation, one round trip.
-- Each takes the delivery's row lock first; attempts, receipts and events follow under it.
-- What opens, closes and settles writes any number of deliveries; that of a workflow is a set of one. It is
-- PL/pgSQL also where SQL would do: its plans are kept, and not made anew in each call.

create function waybill.ms_until(p_at timestamptz) returns bigint
  language sql volatile
  return greatest(0, ceil(extract(epoch from p_at - clock_timestamp()) * 1000))::bigint;

-- What receipts, retry decisions and people need to know of a delivery. As json for what only leaves: no jsonb
-- is made of it first.
create function waybill.delivery_facts_json(d waybill.deliveries) returns json
  language sql volatile
  return json_build_object(
    'state', d.state, 'direction', d.direction, 'connectorId', d.connector_id,
    'subscriptionId', d.subscription_id, 'externalId', d.external_id, 'eventType', d.event_type,
    'payloadSha256', encode(d.payload_sha256, 'hex'), 'payloadBytes', d.payload_bytes,
    'attempts', d.attempts, 'series', d.series, 'seriesAttempts', d.series_attempts,
    'seriesElapsedMs', case when d.series_started_at is null then 0
      else (extract(epoch from clock_timestamp() - d.series_started_at) * 1000)::bigint end,
    'receivedAt', d.received_at, 'reason', d.reason, 'detail', d.detail, 'uncertain', d.uncertain,
    'lane', d.lane, 'driver', d.driver, 'receiptSeq', d.receipt_seq, 'receiptDigest', d.receipt_digest,
    'now', clock_timestamp());

create function waybill.delivery_facts(d waybill.deliveries) returns jsonb
  language sql volatile
  return waybill.delivery_facts_json(d)::jsonb;

-- Appends signed receipts, each to the chain of its subject. The caller holds the row lock of each subject and
-- has compared the head of its chain with the receipt's predecessor.
create function waybill.append_receipts(p_tenant text, p_subjects text[], p_receipts jsonb[]) returns void
  language plpgsql as $$
begin
  insert into waybill.receipts (tenant_id, subject, seq, kind, jws, digest, previous_digest)
    select p_tenant, x.subject, (x.r->>'seq')::integer, x.r->>'kind',
           x.r->>'jws', x.r->>'digest', x.r->>'previousDigest'
      from unnest(p_subjects, p_receipts) x (subject, r);
end
$$;

-- Events of deliveries on a topic, the n-th of each array for the n-th of them.
create function waybill.emit_delivery_events(
  p_tenant text, p_deliveries uuid[], p_event_seqs integer[], p_topic text, p_payloads jsonb[]
) returns void language plpgsql as $$
begin
  insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
    select p_tenant, 'delivery/' || x.id, x.seq, p_topic,
           jsonb_build_object('deliveryId', x.id, 'tenantId', p_tenant) || x.payload
      from unnest(p_deliveries, p_event_seqs, p_payloads) x (id, seq, payload);
end
$$;

-- What the events of a delivery say of where it comes from.
create function waybill.delivery_source(d waybill.deliveries) returns jsonb
  language sql immutable
  return jsonb_build_object('connectorId', d.connector_id, 'subscriptionId', d.subscription_id,
    'eventType', d.event_type, 'payloadHash', encode(d.payload_sha256, 'hex'));

-- Notes that the stored bytes of a locked delivery are whole, before it is attempted. Also of one that failed
-- before this step and is replayed: it was told to nobody yet.
create function waybill.verify_delivery(d waybill.deliveries) returns waybill.deliveries
  language plpgsql as $$
begin
  if d.verified_at is not null then return d; end if;
  update waybill.deliveries set
      state = case state when 'Received' then 'Verified' else state end,
      version = version + case state when 'Received' then 1 else 0 end,
      verified_at = clock_timestamp(), event_seq = event_seq + case direction when 'inbound' then 1 else 0 end
    where tenant_id = d.tenant_id and delivery_id = d.delivery_id returning * into d;
  if d.direction = 'inbound' then
    perform waybill.emit_delivery_events(d.tenant_id, array[d.delivery_id], array[d.event_seq],
      'connectors.deliveries.v1.delivery-received', array[waybill.delivery_source(d)]);
  end if;
  return d;
end
$$;

-- By when an attempt is given up: its target's time-out, and time to write down what it came to.
create function waybill.attempt_deadline(p_chain jsonb) returns timestamptz language sql volatile
  return clock_timestamp()
    + make_interval(secs => coalesce((p_chain->'target'->>'timeoutMs')::numeric, 10000) / 1000.0 + 10);

-- Raises unless as many rows were written as were to be: nothing is written in part.
create function waybill.require_all(p_written integer, p_asked integer) returns void language plpgsql as $$
begin
  if p_written is distinct from p_asked then
    raise exception '% rows were to be written, and % were there', p_asked, p_written
      using errcode = 'serialization_failure';
  end if;
end
$$;

-- mark_dispatched, mark_closed and mark_settled write rows that the caller has locked, by their ctid: however
-- many a tenant has, and whatever the planner believes of that, no other row is read. Several go in one
-- statement, as starting one that writes deliveries costs more than writing one of them. Whoever looks the rows
-- up casts their ids before: what is cast as it is looked up makes its index seem dearer than others of the
-- tenant's.

-- One more attempt of each. The first one takes a delivery from Received over Verified to Dispatched; p_now:
-- what is verified by it, too, is verified then.
create function waybill.mark_dispatched(p_ctids tid[], p_now timestamptz, p_deadline timestamptz)
returns setof waybill.deliveries language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_indexscan = off set enable_bitmapscan = off as $$
begin
  return query update waybill.deliveries d set
      state = 'Dispatched',
      version = d.version + case d.state when 'Received' then 2 when 'Dispatched' then 0 else 1 end,
      verified_at = coalesce(d.verified_at, p_now),
      event_seq = d.event_seq + case when d.verified_at is null and d.direction = 'inbound' then 1 else 0 end,
      attempts = d.attempts + 1, series_attempts = d.series_attempts + 1,
      series_started_at = coalesce(d.series_started_at, p_now),
      next_attempt_at = null, attend_at = p_deadline + interval '5 seconds'
    where d.ctid = any (p_ctids) returning d.*;
end
$$;

-- What open attempts came to; the n-th close, as close_attempt takes it, is that of the n-th of them.
create function waybill.mark_closed(p_ctids tid[], p_closes jsonb[]) returns integer language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_indexscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_written integer;
begin
  update waybill.delivery_attempts a set
      closed_at = clock_timestamp(), outcome = x.close->>'outcome', reason = x.close->>'reason',
      detail = x.close->>'detail', status = (x.close->>'status')::integer,
      duration_ms = (x.close->>'durationMs')::integer, answer_sha256 = x.close->>'answerSha256',
      answer_head = x.close->>'answerHead'
    from unnest(p_ctids, p_closes) x (ctid, close) where a.ctid = x.ctid;
  get diagnostics v_written = row_count;
  return v_written;
end
$$;

-- The series end, in Acknowledged or Failed; the n-th digest is that of the n-th one's receipt.
create function waybill.mark_settled(
  p_ctids tid[], p_state text, p_reason text, p_detail text, p_digests text[]
) returns setof waybill.deliveries language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_indexscan = off set enable_bitmapscan = off
  set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  return query update waybill.deliveries d set
      state = p_state, version = d.version + 1, reason = p_reason, detail = p_detail,
      uncertain = d.uncertain or d.direction = 'outbound' and p_reason is not distinct from 'uncertain',
      settled_at = clock_timestamp(), attend_at = null, next_attempt_at = null,
      driver = case p_state when 'Failed' then 'workflow' else d.driver end,
      show_at = case when p_state = 'Failed' and d.driver = 'loop' then clock_timestamp() + interval '2 seconds' end,
      gate = null, gated_at = null,
      waiting_since = case when p_state = 'Failed' then clock_timestamp() end,
      event_seq = d.event_seq + 1, receipt_seq = d.receipt_seq + 1, receipt_digest = x.digest
    from unnest(p_ctids, p_digests) x (ctid, digest) where d.ctid = x.ctid returning d.*;
end
$$;

-- Opens the next attempts of deliveries that share a chain, where nothing is in their way; the caller holds
-- their rows and has found their stored bytes whole. Answers all that the calls need but the chain and the
-- bytes: the facts, and what is of this attempt.
create function waybill.open_ready(
  p_tenant text, p_ctids tid[], p_owner text, p_chain jsonb, p_deadline timestamptz
) returns table (id uuid, facts json, opening json) language plpgsql as $$
declare
  v_now timestamptz := clock_timestamp();
  v_opened integer;
begin
  return query
    with opened as materialized (
      select * from waybill.mark_dispatched(p_ctids, v_now, p_deadline)
    ), attempted as (
      insert into waybill.delivery_attempts
          (tenant_id, delivery_id, attempt_no, series, owner, target_id, deadline_at, sent_as, only_reads)
        select p_tenant, o.delivery_id, o.attempts, o.series, p_owner, p_chain->>'targetId',
            p_deadline, decode(p_chain->>'sentAs', 'hex'), coalesce((p_chain->>'onlyReads')::boolean, false)
          from opened o
    ), told as materialized (
      -- Those whose stored bytes were just found whole; where there are none, no statement is started.
      select waybill.emit_delivery_events(p_tenant, array_agg(o.delivery_id), array_agg(o.event_seq),
          'connectors.deliveries.v1.delivery-received', array_agg(waybill.delivery_source(o)))
        from opened o where o.verified_at = v_now and o.direction = 'inbound' having count(*) > 0
    )
    select o.delivery_id, waybill.delivery_facts_json(o), json_build_object(
        'attempt', o.attempts, 'openedAt', clock_timestamp(), 'endsInMs', waybill.ms_until(p_deadline),
        'contentType', o.content_type, 'keptHeaders', o.kept_headers,
        -- Whether nothing of it can have reached a target before.
        'firstCall', o.attempts = 1 or not exists (select from waybill.delivery_attempts b
          where b.tenant_id = p_tenant and b.delivery_id = o.delivery_id and b.attempt_no < o.attempts
            and b.outcome is distinct from 'not_sent'))
      from opened o left join told on true;
  get diagnostics v_opened = row_count;
  perform waybill.require_all(v_opened, cardinality(p_ctids));
end
$$;

-- Opens the next attempt, or says why not:
--   unknown_delivery | settled | in_flight | must_fail | held | not_due | opened
-- opened carries everything the call needs: payload, kept headers, target, retry profile. The first of
-- held, not_due and opened also verifies a delivery, once its stored bytes match their digest.
-- What is in flight names the target of its own attempt and, while the action of this series is not
-- there yet, brings the stored bytes that its request is built from (null: they are missing or do not
-- match their digest).
-- p_driver says who asks. What the loop of the express lane asks for is still its own, and it holds the row's
-- lock; once a workflow has asked, the delivery is the workflow's, but for an attempt of the loop that is open.
create function waybill.open_attempt(
  p_tenant text, p_delivery uuid, p_owner text, p_driver text default 'workflow'
) returns table (answer text, info jsonb, payload bytea) language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  d waybill.deliveries;
  a waybill.delivery_attempts;
  v_chain jsonb;
  v_content bytea;
  v_fail text;
  v_deadline timestamptz;
  v_why text;
  v_gate text;
  v_again_ms bigint;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = p_delivery for update;
  if not found then
    return query select 'unknown_delivery', null::jsonb, null::bytea; return;
  end if;
  if d.attend_at is null then
    if d.show_at is not null then
      update waybill.deliveries set show_at = null where tenant_id = p_tenant and delivery_id = p_delivery;
    end if;
    return query select 'settled', waybill.delivery_facts(d), null::bytea; return;
  end if;
  v_chain := case d.direction when 'outbound' then waybill.sending_chain(d)
    else waybill.dispatch_chain(p_tenant, d.subscription_id) end;
  select * into a from waybill.delivery_attempts
    where tenant_id = p_tenant and delivery_id = p_delivery and closed_at is null;
  if found and d.direction = 'outbound' then
    return query select 'in_flight', waybill.delivery_facts(d) || v_chain || jsonb_build_object(
        'targetId', a.target_id, 'attempt', a.attempt_no, 'openedAt', a.opened_at,
        'onlyReads', a.only_reads, 'endsInMs', waybill.ms_until(a.deadline_at)),
      (select r.content from waybill.artifacts r where a.target_id like 'action/%'
        and r.tenant_id = p_tenant and r.sha256 = d.payload_sha256
        and sha256(r.content) = d.payload_sha256);
    return;
  elsif found then
    -- What the loop of the express lane opened is left to it until its deadline; an action is nobody's.
    if d.driver = 'loop' and (a.deadline_at <= clock_timestamp() or exists (select from waybill.targets t
        where t.tenant_id = p_tenant and t.target_id = a.target_id and t.kind = 'action')) then
      update waybill.deliveries set driver = p_driver
        where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
    end if;
    return query select 'in_flight', waybill.delivery_facts(d) || v_chain || jsonb_build_object(
        -- The attempt's own target: the subscription may name another one by now.
        'targetId', t.target_id, 'targetKind', t.kind, 'target', t.config,
        'attempt', a.attempt_no, 'openedAt', a.opened_at,
        'endsInMs', waybill.ms_until(a.deadline_at)),
      (select r.content from waybill.artifacts r where t.kind = 'action'
        and r.tenant_id = p_tenant and r.sha256 = d.payload_sha256
        and sha256(r.content) = d.payload_sha256
        and not exists (select from waybill.actions x where x.tenant_id = p_tenant
          and x.action_id = format('%s.%s', p_delivery, d.series) and x.delivery_id = p_delivery))
      from waybill.targets t where t.tenant_id = p_tenant and t.target_id = a.target_id;
    return;
  end if;

  if d.driver = 'loop' and p_driver = 'workflow' then
    update waybill.deliveries set driver = p_driver
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
  end if;
  select content into v_content from waybill.artifacts
    where tenant_id = p_tenant and sha256 = d.payload_sha256;
  v_fail := case
    when v_content is null or sha256(v_content) <> d.payload_sha256 then 'payload_unreadable'
    else v_chain->>'broken' end;
  if v_fail is not null then
    if p_driver = 'loop' then
      update waybill.deliveries set driver = 'workflow', attend_at = clock_timestamp() + interval '2 seconds'
        where tenant_id = p_tenant and delivery_id = p_delivery;
    end if;
    return query select 'must_fail', waybill.delivery_facts(d) || v_chain
      || jsonb_build_object('reason', v_fail), null::bytea; return;
  end if;
  v_deadline := waybill.attempt_deadline(v_chain);
  v_why := v_chain->>'heldBy';
  v_gate := case when v_why is not null then v_chain->>'gate' end;
  if v_why is null and d.direction = 'outbound' then
    if coalesce(d.next_attempt_at <= clock_timestamp(), true) then
      select p.why, p.again_ms into v_why, v_again_ms from waybill.sending_pace(d, v_chain) p;
    end if;
  elsif v_why is null and coalesce(d.next_attempt_at <= clock_timestamp(), true) then
    v_why := waybill.target_gate(d, v_chain->>'targetId', v_chain->>'targetKind', v_deadline);
    v_gate := case
      when v_why = 'draining' then d.gate
      when v_why is not null then case when v_why in ('target_busy', 'tenant_busy') then 'busy/'
          else 'target/' end
        || (v_chain->>'targetId') end;
  end if;
  if v_why is not null then
    d := waybill.verify_delivery(d);
    update waybill.deliveries set reason = 'held', detail = v_why,
        gate = v_gate, gated_at = coalesce(gated_at, clock_timestamp()),
        waiting_since = coalesce(waiting_since, clock_timestamp()),
        -- What the loop cannot send now is its workflow's, which is to be started.
        driver = 'workflow',
        attend_at = clock_timestamp() + case
          when p_driver = 'loop' then interval '2 seconds'
          when v_again_ms is not null then make_interval(secs => v_again_ms / 1000.0 + 60)
          when v_gate is null then interval '5 minutes' else interval '15 minutes' end
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
    return query select 'held', waybill.delivery_facts(d) || v_chain || jsonb_build_object(
      'heldBy', v_why, 'againInMs', case when v_gate is not null then 600000 else v_again_ms end),
      null::bytea; return;
  end if;
  if d.reason in ('held', 'released') then
    update waybill.deliveries set reason = null, detail = null, waiting_since = null,
        gate = null, gated_at = null,
        -- The time that it was held is nobody's fault: a profile's total span does not count it.
        series_started_at = series_started_at
          + (clock_timestamp() - coalesce(gated_at, clock_timestamp()))
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
  end if;
  if d.next_attempt_at > clock_timestamp() then
    d := waybill.verify_delivery(d);
    -- Its workflow knows now; before, it was to be started soon.
    update waybill.deliveries set attend_at = next_attempt_at + interval '5 seconds'
      where tenant_id = p_tenant and delivery_id = p_delivery
        and attend_at < next_attempt_at + interval '5 seconds';
    return query select 'not_due', waybill.delivery_facts(d) || jsonb_build_object(
      'dueInMs', waybill.ms_until(d.next_attempt_at)), null::bytea; return;
  end if;

  -- Where its row is now: it may have been written since it was read.
  return query select 'opened', v_chain || o.facts::jsonb || o.opening::jsonb, v_content
    from waybill.open_ready(p_tenant, array(select x.ctid from waybill.deliveries x
      where x.tenant_id = p_tenant and x.delivery_id = p_delivery limit 1), p_owner, v_chain, v_deadline) o;
end
$$;

-- A subscription with its target and retry profile as they are now; `broken` names what makes dispatching its
-- deliveries impossible.
create function waybill.dispatch_chain(p_tenant text, p_subscription text) returns jsonb
  language plpgsql stable as $$
begin
  return (
    select jsonb_build_object(
      -- Why it is held, if it is; null: nothing holds it.
      'heldBy', case
        when s.state = 'paused' then coalesce(s.pause_reason, 'paused')
        when i.status = 'disabled' then 'instance_disabled'
        when not c.enabled then 'connector_disabled' end,
      -- Where it then waits to be released; null: it looks again by itself.
      'gate', case when s.state = 'paused' then 'subscription/' || s.subscription_id end,
      'targetId', t.target_id, 'targetKind', t.kind, 'target', t.config,
      'retry', coalesce(s.retry_profile, v.retry_profile, g.default_retry),
      'broken', case
        -- A revoked instance deactivates its subscriptions: it is the reason.
        when i.status = 'revoked' then 'instance_revoked'
        when s.state = 'deactivated' then 'subscription_deactivated'
        when v.status = 'revoked' then 'connector_revoked'
        when t.kind = 'workflow' and not waybill.workflow_allowed(p_tenant, t.config)
          then 'workflow_not_allowed' end)
    from waybill.subscriptions s
    join waybill.targets t on t.tenant_id = s.tenant_id and t.target_id = s.target_id
    join waybill.instances i on i.tenant_id = s.tenant_id and i.instance_id = s.instance_id
    join waybill.connector_versions v on v.connector_id = i.connector_id and v.version = i.version
    join waybill.connectors c on c.connector_id = i.connector_id
    cross join waybill.settings g
    where s.tenant_id = p_tenant and s.subscription_id = p_subscription);
end
$$;

-- Closes an attempt with its outcome and carries out the decision about the delivery, all or
-- nothing. p_close: {outcome, reason, detail, status, durationMs, answerSha256, answerHead,
-- decision: acknowledged | retry | failed, failReason (of the delivery, where it is not the attempt's),
-- delayMs, pauseSubscription, targetHealth}; p_receipt (null for retry):
-- {seq, previousDigest, kind, jws, digest}. Answers:
--   closed         done, or had been done by this very call before;
--   fence_lost     the attempt is over already with another outcome: kept as late evidence;
--   chain_moved    the receipt does not continue the chain: sign again from `facts`;
--   unknown_attempt
create function waybill.close_attempt(
  p_tenant text, p_delivery uuid, p_attempt integer, p_close jsonb, p_receipt jsonb
) returns jsonb language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  d waybill.deliveries;
  a waybill.delivery_attempts;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = p_delivery for update;
  select * into a from waybill.delivery_attempts
    where tenant_id = p_tenant and delivery_id = p_delivery and attempt_no = p_attempt;
  if a.attempt_no is null then
    return jsonb_build_object('answer', 'unknown_attempt');
  end if;
  if a.closed_at is not null then
    if a.outcome = p_close->>'outcome' and a.duration_ms is not distinct from (p_close->>'durationMs')::integer
    then
      return jsonb_build_object('answer', 'closed');
    end if;
    update waybill.delivery_attempts set late_evidence = coalesce(late_evidence, p_close)
      where tenant_id = p_tenant and delivery_id = p_delivery and attempt_no = p_attempt;
    return jsonb_build_object('answer', 'fence_lost');
  end if;
  if waybill.chain_moved(d, p_receipt) then
    return jsonb_build_object('answer', 'chain_moved', 'facts', waybill.delivery_facts(d));
  end if;

  perform waybill.record_outcomes(p_tenant, array[p_delivery], array[p_close]);
  if d.direction = 'outbound' then
    update waybill.deliveries set uncertain = p_close->>'decision' <> 'acknowledged'
        and (uncertain or p_close->>'outcome' = 'unknown' and not a.only_reads)
      where tenant_id = p_tenant and delivery_id = p_delivery returning * into d;
  end if;
  case p_close->>'decision'
    when 'acknowledged' then
      perform waybill.settle_deliveries(p_tenant, 'Acknowledged', null, null,
        array[p_delivery], array[p_receipt]);
    when 'failed' then
      perform waybill.settle_deliveries(p_tenant, 'Failed', coalesce(p_close->>'failReason', p_close->>'reason'),
        p_close->>'detail', array[p_delivery], array[p_receipt]);
    when 'retry' then
      update waybill.deliveries set
          next_attempt_at = clock_timestamp() + make_interval(secs => (p_close->>'delayMs')::numeric / 1000.0),
          -- From the loop of the express lane to its workflow, which is to be started.
          driver = 'workflow',
          attend_at = case driver when 'loop' then clock_timestamp() + interval '2 seconds'
            else clock_timestamp() + make_interval(secs => (p_close->>'delayMs')::numeric / 1000.0 + 5) end,
          waiting_since = coalesce(waiting_since, clock_timestamp()),
          reason = p_close->>'reason', detail = p_close->>'detail'
        where tenant_id = p_tenant and delivery_id = p_delivery;
  end case;
  -- In this order, as close_attempts does: both lock rows that attempts of other deliveries lock, too.
  if (p_close->>'pauseSubscription')::boolean then
    perform waybill.pause_subscription(d, a.target_id, p_close->>'reason');
  end if;
  perform waybill.note_target_health(a, p_close->>'targetHealth');
  return jsonb_build_object('answer', 'closed');
end
$$;

-- Pauses the subscription of a delivery whose target is gone, once, with its event. One that has another
-- target by now goes on.
create function waybill.pause_subscription(
  d waybill.deliveries, p_target text, p_reason text
) returns void
  language plpgsql as $$
declare
  s waybill.subscriptions;
begin
  update waybill.subscriptions
    set state = 'paused', pause_reason = p_reason, event_seq = event_seq + 1
    where tenant_id = d.tenant_id and subscription_id = d.subscription_id and state = 'active'
      and target_id = p_target
    returning * into s;
  if found then perform waybill.tell_subscription_changed(s); end if;
end
$$;

-- The event of a subscription that has just been changed, its sequence number with it.
create function waybill.tell_subscription_changed(s waybill.subscriptions) returns void
  language sql
begin atomic
  insert into waybill.outbox_events (tenant_id, aggregate, aggregate_seq, topic, payload)
    select s.tenant_id, 'subscription/' || s.subscription_id, s.event_seq,
           'connectors.subscriptions.v1.connector-subscription-changed', jsonb_build_object(
             'subscriptionId', s.subscription_id, 'tenantId', s.tenant_id,
             'connectorId', i.connector_id, 'active', s.state = 'active')
      from waybill.instances i
      where i.tenant_id = s.tenant_id and i.instance_id = s.instance_id;
end;

create function waybill.chain_moved(d waybill.deliveries, p_receipt jsonb) returns boolean
  language sql immutable
  return jsonb_typeof(p_receipt) = 'object'
    and ((p_receipt->>'seq')::integer <> d.receipt_seq + 1
         or p_receipt->>'previousDigest' is distinct from d.receipt_digest);

-- Closes the open attempts of locked deliveries; the n-th close, as close_attempt takes it, is that of the
-- n-th of them.
create function waybill.record_outcomes(p_tenant text, p_deliveries uuid[], p_closes jsonb[]) returns void
  language plpgsql as $$
begin
  perform waybill.require_all(waybill.mark_closed(array(
    select o.ctid from unnest(p_deliveries) with ordinality x (id, nth)
      cross join lateral (select a.ctid from waybill.delivery_attempts a
        where a.tenant_id = p_tenant and a.delivery_id = x.id and a.closed_at is null limit 1) o
      order by x.nth),
    p_closes), cardinality(p_deliveries));
end
$$;

-- Ends series of locked deliveries: state, event and receipt in one step; the n-th receipt is that of the n-th
-- of them.
create function waybill.settle_deliveries(
  p_tenant text, p_state text, p_reason text, p_detail text, p_deliveries uuid[], p_receipts jsonb[]
) returns void language plpgsql as $$
declare
  v_ctids tid[] := array(
    select o.ctid from unnest(p_deliveries) with ordinality x (id, nth)
      cross join lateral (select d.ctid from waybill.deliveries d
        where d.tenant_id = p_tenant and d.delivery_id = x.id limit 1) o
      order by x.nth);
  v_settled integer;
begin
  with settled as materialized (
    select * from waybill.mark_settled(v_ctids, p_state, p_reason, p_detail,
      array(select r.receipt->>'digest' from unnest(p_receipts) with ordinality r (receipt, nth) order by r.nth))
  ), told as materialized (
    select waybill.emit_delivery_events(p_tenant, array_agg(d.delivery_id), array_agg(d.event_seq),
        case p_state when 'Failed' then 'connectors.deliveries.v1.delivery-failed'
          else 'connectors.deliveries.v1.delivery-dispatched' end,
        array_agg(jsonb_build_object('direction', d.direction) || case
          when p_state = 'Failed' then jsonb_build_object('reason', d.reason)
          else jsonb_build_object('receiptRef', format('delivery/%s/%s', d.delivery_id, d.receipt_seq)) end
          -- Nobody calls a target of the kind event: this event is all that its consumers get.
          || case when p_state = 'Failed' or t.target_id is null then '{}'
            else jsonb_build_object('targetId', t.target_id) || waybill.delivery_source(d) end))
      from settled d
      left join lateral (select t.target_id from waybill.delivery_attempts a
        cross join lateral (select t.target_id from waybill.targets t
          where t.tenant_id = p_tenant and t.target_id = a.target_id and t.kind = 'event' limit 1) t
        where a.tenant_id = p_tenant and a.delivery_id = d.delivery_id and a.attempt_no = d.attempts limit 1) t on true
  )
  select count(*) into v_settled from settled cross join told;
  perform waybill.require_all(v_settled, cardinality(p_deliveries));
  perform waybill.append_receipts(p_tenant,
    array(select 'delivery/' || x.id from unnest(p_deliveries) with ordinality x (id, nth) order by x.nth),
    p_receipts);
end
$$;

-- Fails a live delivery that has no open attempt. Answers failed | not_live | in_flight |
-- chain_moved | unknown_delivery.
create function waybill.fail_delivery(
  p_tenant text, p_delivery uuid, p_reason text, p_detail text, p_receipt jsonb
) returns jsonb language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  d waybill.deliveries;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = p_delivery for update;
  if not found then return jsonb_build_object('answer', 'unknown_delivery'); end if;
  if d.attend_at is null then
    return jsonb_build_object('answer', 'not_live', 'facts', waybill.delivery_facts(d));
  end if;
  if exists (select from waybill.delivery_attempts
              where tenant_id = p_tenant and delivery_id = p_delivery and closed_at is null) then
    return jsonb_build_object('answer', 'in_flight');
  end if;
  if waybill.chain_moved(d, p_receipt) then
    return jsonb_build_object('answer', 'chain_moved', 'facts', waybill.delivery_facts(d));
  end if;
  perform waybill.settle_deliveries(p_tenant, 'Failed', p_reason, p_detail, array[p_delivery], array[p_receipt]);
  return jsonb_build_object('answer', 'failed');
end
$$;
