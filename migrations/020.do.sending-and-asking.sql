-- Sending and asking: what an activity asks Postgres before and after it calls a host.

-- The last step before the request leaves: after it, what becomes of the attempt is unknown until it
-- is heard of. Answers
--   send        with everything that the call needs, and the request's bytes;
--   not_sendable  settle it as not started; why: cancelled (somebody wants it stopped) | deadline (of the
--                 action) | recovering (from a restore) | revoked (its instance or its version was, since it
--                 was reserved) | registered_again (the replica has, as a new incarnation) | not_ready (it
--                 is not);
--   fence_lost  the attempt is over, overdue, or was sent before.
-- p_resume: its host was at work when it was last heard of, and the same request attaches to that.
create function waybill.begin_dispatch(
  p_tenant text, p_action text, p_fence bigint, p_resume boolean
)
returns table (answer jsonb, request bytea)
language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  a waybill.actions;
  r waybill.routes;
  t waybill.route_attempts;
  x waybill.replicas;
  v_why text;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  select * into t from waybill.route_attempts where tenant_id = p_tenant and action_id = p_action
    and fence = p_fence and settled_at is null and deadline_at > clock_timestamp();
  if not found or a.state <> all (case when p_resume then array['dispatching', 'cancelling']
      else array['reserved'] end) then
    return query select jsonb_build_object('kind', 'fence_lost'), null::bytea; return;
  end if;
  select * into x from waybill.replicas where replica_id = t.replica_id;
  v_why := case
    when p_resume then null
    when a.cancel_requested_at is not null then 'cancelled'
    when a.deadline_at <= clock_timestamp() then 'deadline'
    when (select recovering_since is not null from waybill.settings) then 'recovering'
    when (select i.status = 'revoked' from waybill.instances i
        where i.tenant_id = p_tenant and i.instance_id = r.instance_id)
      or (select v.status = 'revoked' from waybill.connector_versions v
        where v.connector_id = r.connector_id and v.version = r.version) then 'revoked'
    when x.incarnation <> t.incarnation then 'registered_again'
    when x.status not in ('ready', 'draining') then 'not_ready' end;
  if v_why is not null then
    return query select jsonb_build_object('kind', 'not_sendable', 'attemptNo', t.attempt_no, 'why', v_why),
      null::bytea;
    return;
  end if;
  -- The reservation outlives the call and its settlement.
  update waybill.route_attempts set deadline_at = greatest(deadline_at, clock_timestamp()
      + make_interval(secs => (select c.timeout_ms from waybill.capabilities c
        where c.capability_id = a.capability_id) / 1000.0 + 15))
    where tenant_id = p_tenant and action_id = p_action and attempt_no = t.attempt_no
    returning * into t;
  update waybill.actions set
      state = case when p_resume then state else 'dispatching' end,
      version = version + (not p_resume)::integer,
      store_epoch = coalesce(store_epoch, x.store_epoch), last_sent_at = clock_timestamp(),
      progress_note = case when p_resume then progress_note end,
      progress_percent = case when p_resume then progress_percent end,
      progress_at = case when p_resume then progress_at end,
      attend_at = t.deadline_at + interval '5 seconds'
    where tenant_id = p_tenant and action_id = p_action;
  return query select jsonb_build_object('kind', 'send', 'route', waybill.route_json(r),
      'attemptNo', t.attempt_no, 'incarnation', t.incarnation,
      -- Only of what was sent before: a memory that is asked for the first time may be any. So may one in
      -- which it is done again, where that is safe and the memory that it was sent to is lost.
      'storeEpoch', case when a.last_sent_at is not null
        and (not a.uncertain or x.store_epoch = a.store_epoch) then a.store_epoch end,
      'uncertain', a.uncertain, 'beginAnew', a.begin_anew and not p_resume,
      'approval', a.approval_id,
      'receipts', waybill.receipt_facts(a),
      'deadlineAtMs', floor(extract(epoch from t.deadline_at) * 1000)::bigint,
      'deadlineInMs', waybill.ms_until(t.deadline_at),
      'timeoutMs', c.timeout_ms),
      (select content from waybill.artifacts where tenant_id = p_tenant and sha256 = a.request_sha256)
    from waybill.capabilities c where c.capability_id = a.capability_id;
end
$$;

-- Settles an attempt whose sender is lost, or was never there. Reserved: nothing was sent, and now nothing
-- will be. Else nobody knows. An attempt that is over keeps its settlement. Answers {kind}: settled | over |
-- sign (see ask_receipt).
create function waybill.settle_lost(
  p_tenant text, p_action text, p_fence bigint, p_evidence jsonb, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  t waybill.route_attempts;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  perform from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  select * into t from waybill.route_attempts where tenant_id = p_tenant and action_id = p_action
    and fence = p_fence and settled_at is null;
  if not found then return jsonb_build_object('kind', 'over'); end if;
  v_ask := waybill.ask_receipt(a, case when a.closed_at is not null then null
    when a.state = 'reserved' then 'attempt_withdrawn' else 'attempt_lost' end, p_receipt);
  if v_ask is not null then return v_ask; end if;
  if a.state = 'reserved' then
    perform waybill.end_attempt(t, 'not_started', null, p_evidence);
  else
    perform waybill.end_attempt(t, 'outcome_unknown', 'ours', p_evidence);
  end if;
  if a.closed_at is null then perform waybill.keep_receipt(a, p_receipt); end if;
  return jsonb_build_object('kind', 'settled');
end
$$;

-- Settles an attempt and records the result that it brought, as one fact. p_close: {settlement,
-- unknownCause, evidence, result: {outcome, errorCode, detail} | null, retryAfterMs: see hold_rate; waiting
-- for the provider costs no attempt of the action's budget}; p_result: the result's bytes.
-- Answers {kind, action}: kind is closed | settled | already_settled | fence_lost | unknown_route | sign (see
-- ask_receipt); closed: the action has its result, whoever brought it.
create function waybill.close_dispatch(
  p_tenant text, p_action text, p_fence bigint, p_close jsonb, p_result bytea, p_receipt jsonb
) returns jsonb language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
declare
  a waybill.actions;
  r waybill.routes;
  t waybill.route_attempts;
  v_kind text;
  v_ask jsonb;
  v_result jsonb := nullif(p_close->'result', 'null');
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  select * into r from waybill.routes
    where tenant_id = p_tenant and action_id = p_action and fence >= p_fence for update;
  if not found then return jsonb_build_object('kind', 'unknown_route'); end if;
  select * into t from waybill.route_attempts
    where tenant_id = p_tenant and action_id = p_action and fence = p_fence;
  v_kind := case when t.attempt_no is null then 'fence_lost' when t.settled_at is null then 'settled'
    when t.settlement = p_close->>'settlement' then 'already_settled' else 'fence_lost' end;
  -- A refusal for good speaks of its own attempt alone: late, it is no more than evidence.
  if v_kind <> 'settled' and p_close->>'settlement' = 'not_started' then v_result := null; end if;
  v_ask := waybill.ask_receipt(a, case
      when a.closed_at is null and coalesce(a.result_outcome, v_result->>'outcome') is not null
        then waybill.closing_receipt(coalesce(a.result_outcome, v_result->>'outcome'))
      when a.closed_at is null and v_kind = 'settled' then 'attempt_settled' end, p_receipt);
  if v_ask is not null then return v_ask; end if;
  if v_kind = 'settled' then
    perform waybill.end_attempt(t, p_close->>'settlement', p_close->>'unknownCause', p_close->'evidence');
    if p_close->>'retryAfterMs' is not null then
      perform waybill.hold_rate(p_tenant, r.instance_id, (p_close->>'retryAfterMs')::bigint);
      update waybill.actions set budget_from = budget_from + 1
        where tenant_id = p_tenant and action_id = p_action and p_close->>'settlement' = 'not_started';
    end if;
  elsif v_kind = 'fence_lost' and t.attempt_no is not null then
    perform waybill.keep_late_evidence(t, p_close);
  end if;
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action;
  if v_result is not null then
    a := waybill.record_outcome(a, t, v_result, p_result, p_receipt);
  elsif a.result_outcome is not null then
    a := waybill.close_action(a, '{}', p_receipt);
  elsif v_kind = 'settled' then
    a := waybill.keep_receipt(a, p_receipt);
  end if;
  return jsonb_build_object('kind', case when a.closed_at is not null then 'closed' else v_kind end,
    'action', waybill.action_facts(a));
end
$$;

-- Writes the result once and closes the locked action with it; another one is kept as evidence.
create function waybill.record_outcome(
  a waybill.actions, t waybill.route_attempts, p_result jsonb, p_bytes bytea, p_receipt jsonb
) returns waybill.actions language plpgsql as $$
declare
  v_result jsonb := p_result || jsonb_build_object('resultSha256', encode(sha256(p_bytes), 'hex'));
begin
  if a.result_outcome is not null then
    if waybill.action_result(a) is distinct from jsonb_build_object('outcome', v_result->>'outcome',
        'resultSha256', v_result->>'resultSha256', 'errorCode', v_result->>'errorCode')
       and t.attempt_no is not null then
      perform waybill.keep_late_evidence(t, jsonb_build_object('result', v_result));
    end if;
    return waybill.close_action(a, '{}', p_receipt);
  end if;
  if p_bytes is not null then
    perform waybill.keep_action_artifact(a.tenant_id, sha256(p_bytes), p_bytes);
  end if;
  return waybill.close_action(a, v_result, p_receipt);
end
$$;

-- Opens a fencing call: reconcile, or cancel where somebody has asked for that. p_ask: {aboveFence, adopt,
-- receipt: see ask_receipt}; adopt: the memory of the host that is asked although it is not the one that the action was
-- sent to. Answers
--   ask      with everything that the call needs; the request's bytes only for a memory to adopt;
--   closed   the action has its result;
--   clear    nothing was ever sent, or it may be reserved again: {action};
--   not_fencing  its state wants no such call: {action};
--   sign     it has its result, and closes with the receipt of that.
create function waybill.begin_fencing(p_tenant text, p_action text, p_ask jsonb)
returns table (answer jsonb, request bytea) language plpgsql as $$
declare
  a waybill.actions;
  r waybill.routes;
  x waybill.replicas;
  v_adopt text := p_ask->>'adopt';
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  if a.result_outcome is not null then
    if a.closed_at is null then
      v_ask := waybill.ask_receipt(a, waybill.closing_receipt(a.result_outcome), p_ask->'receipt');
      if v_ask is not null then return query select v_ask, null::bytea; return; end if;
      a := waybill.close_action(a, '{}', p_ask->'receipt');
    end if;
    return query select jsonb_build_object('kind', 'closed', 'action', waybill.action_facts(a)), null::bytea;
    return;
  end if;
  if a.state = 'unknown' then
    a := waybill.walk_action(a, case when a.uncertain then array['reconciling']
      else array['reconciling', 'requested'] end);
  elsif a.state = 'dispatching' and a.cancel_requested_at is not null then
    a := waybill.walk_action(a, array['cancelling']);
  end if;
  if a.state = 'requested' then
    return query select jsonb_build_object('kind', 'clear', 'action', waybill.action_facts(a)), null::bytea;
    return;
  end if;
  if r.action_id is null or a.state not in ('cancelling', 'reconciling') then
    return query select jsonb_build_object('kind', 'not_fencing', 'action', waybill.action_facts(a)), null::bytea;
    return;
  end if;
  update waybill.routes set fence = waybill.fence_after(fence, (p_ask->>'aboveFence')::bigint)
    where tenant_id = p_tenant and action_id = p_action returning * into r;
  update waybill.actions set repeatable = false, attend_at = clock_timestamp() + interval '2 minutes'
    where tenant_id = p_tenant and action_id = p_action returning * into a;
  select * into x from waybill.replicas where replica_id = r.replica_id;
  return query select jsonb_build_object('kind', 'ask',
      -- A memory that never saw the action can only be asked to look.
      'purpose', case when a.cancel_requested_at is not null and v_adopt is null
        then 'cancel' else 'reconcile' end,
      'route', waybill.route_json(r), 'fence', r.fence, 'incarnation', x.incarnation,
      'storeEpoch', coalesce(v_adopt, a.store_epoch), 'nowMs', floor(extract(epoch from clock_timestamp()) * 1000)::bigint,
      'sentAgoMs', greatest(0, extract(epoch from clock_timestamp() - a.last_sent_at) * 1000)::bigint,
      'actionDeadlineInMs', waybill.ms_until(a.deadline_at), 'timeoutMs', c.timeout_ms,
      'recovery', c.recovery, 'sideEffect', c.side_effect, 'approval', a.approval_id,
      'receipts', waybill.receipt_facts(a)),
      (select content from waybill.artifacts where v_adopt is not null
        and tenant_id = p_tenant and sha256 = a.request_sha256)
    from waybill.capabilities c where c.capability_id = a.capability_id;
end
$$;

-- What a fencing call has found out. p_found: {kind, evidence, adopted: the memory that has answered for
-- the first time, and knows the action from now on, or null} and by kind
--   result        result: {outcome, errorCode, detail}, p_result: its bytes;
--   not_started   sealed: it may be reserved again, or is cancelled where that was asked for;
--   repeatable    doing it again is safe and finds out;
--   needs_operator  reason, detail;
--   again         reason, detail, inMs: nothing yet; progress: what the host says of it, or null.
-- Answers {kind, action}: concluded | fence_lost (a newer call was made since: nothing changed) |
-- unknown_route | sign (see ask_receipt). A result counts whoever brings it.
create function waybill.conclude_fencing(
  p_tenant text, p_action text, p_fence bigint, p_found jsonb, p_result bytea, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  r waybill.routes;
  t waybill.route_attempts;
  v_cancel boolean;
  v_due text;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  select * into r from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
  if r.action_id is null or p_fence > r.fence then return jsonb_build_object('kind', 'unknown_route'); end if;
  select * into t from waybill.route_attempts where tenant_id = p_tenant and action_id = p_action
    order by attempt_no desc limit 1;
  v_cancel := a.cancel_requested_at is not null;
  v_due := case
    when a.closed_at is not null then null
    when p_found->>'kind' = 'result' then
      waybill.closing_receipt(coalesce(a.result_outcome, p_found->'result'->>'outcome'))
    when p_fence < r.fence or not (a.state = 'reconciling'
      or a.state = 'cancelling' and t.settled_at is not null) then null
    when p_found->>'kind' = 'not_started' and v_cancel then 'action_cancelled'
    -- Said a second time, it is the same finding.
    when p_found->>'kind' in ('not_started', 'needs_operator')
      or p_found->>'kind' = 'repeatable' and not a.repeatable then 'host_found' end;
  v_ask := waybill.ask_receipt(a, v_due, p_receipt);
  if v_ask is not null then return v_ask; end if;
  perform waybill.keep_late_evidence(t, p_found - 'detail');
  if p_found->>'kind' = 'result' then
    if t.settled_at is null and t.fence < p_fence then
      perform waybill.end_attempt(t, case p_found->'result'->>'outcome'
        when 'cancelled' then 'cancelled' else 'completed' end, null, p_found->'evidence');
      select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action;
    end if;
    a := waybill.record_outcome(a, t, p_found->'result', p_result, p_receipt);
    return jsonb_build_object('kind', 'concluded', 'action', waybill.action_facts(a));
  end if;
  if p_fence < r.fence or a.state not in ('reconciling', 'cancelling') then
    return jsonb_build_object('kind', 'fence_lost', 'action', waybill.action_facts(a));
  end if;
  if a.state = 'cancelling' and t.settled_at is not null then
    a := waybill.walk_action(a, array['unknown', 'reconciling']);
  end if;
  -- Not before it has answered: one that the question never reached would call the action not started.
  if p_found->>'adopted' is not null then
    update waybill.actions set store_epoch = p_found->>'adopted'
      where tenant_id = p_tenant and action_id = p_action returning * into a;
  end if;
  if p_found->>'kind' = 'not_started' and a.state = 'reconciling' then
    if v_cancel then
      a := waybill.close_action(a, jsonb_build_object('outcome', 'cancelled'), p_receipt);
      return jsonb_build_object('kind', 'concluded', 'action', waybill.action_facts(a));
    else
      a := waybill.walk_action(a, array['requested']);
      update waybill.actions set uncertain = false, store_epoch = null, last_sent_at = null,
          attend_at = clock_timestamp() + interval '1 minute'
        where tenant_id = p_tenant and action_id = p_action returning * into a;
    end if;
  elsif p_found->>'kind' = 'repeatable' and a.state = 'reconciling' and not v_cancel then
    update waybill.actions set repeatable = true, attend_at = clock_timestamp() + interval '1 minute'
      where tenant_id = p_tenant and action_id = p_action returning * into a;
  elsif p_found->>'kind' in ('needs_operator', 'repeatable') and a.state = 'reconciling' then
    a := waybill.hand_to_operator(a,
      case when p_found->>'kind' = 'repeatable' then 'cancel_uncertain' else p_found->>'reason' end,
      p_found->>'detail');
  else
    update waybill.actions set waiting_since = coalesce(waiting_since, clock_timestamp()),
        reason = p_found->>'reason', detail = p_found->>'detail',
        attend_at = clock_timestamp()
          + make_interval(secs => coalesce((p_found->>'inMs')::numeric, 0) / 1000.0 + 60)
      where tenant_id = p_tenant and action_id = p_action returning * into a;
    perform waybill.write_progress(a, p_found->'progress');
  end if;
  if v_due = 'host_found' then
    a := waybill.keep_receipt(a, p_receipt);
  end if;
  return jsonb_build_object('kind', 'concluded', 'action', waybill.action_facts(a));
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.begin_dispatch(text, text, bigint, boolean),
  waybill.settle_lost(text, text, bigint, jsonb, jsonb),
  waybill.close_dispatch(text, text, bigint, jsonb, bytea, jsonb),
  waybill.record_outcome(waybill.actions, waybill.route_attempts, jsonb, bytea, jsonb),
  waybill.begin_fencing(text, text, jsonb),
  waybill.conclude_fencing(text, text, bigint, jsonb, bytea, jsonb)
  to waybill_data;
