-- Waiting and stopping: an action that waits for time or a person, is given up, cancelled, resolved or
-- taken up again by a loop.

-- From now on a person decides what became of the locked action.
create function waybill.hand_to_operator(a waybill.actions, p_reason text, p_detail text)
returns waybill.actions language plpgsql as $$
begin
  a := waybill.walk_action(a, array['needs_operator']);
  update waybill.actions set repeatable = false, reason = p_reason, detail = p_detail,
      waiting_since = coalesce(waiting_since, clock_timestamp()),
      attend_at = clock_timestamp() + interval '10 minutes'
    where tenant_id = a.tenant_id and action_id = a.action_id returning * into a;
  return a;
end
$$;

-- The action waits for time: why, and for how long.
create function waybill.note_action_wait(
  p_tenant text, p_action text, p_reason text, p_detail text, p_ms integer
) returns void language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  update waybill.actions set reason = p_reason, detail = p_detail,
      waiting_since = coalesce(waiting_since, clock_timestamp()),
      attend_at = clock_timestamp() + make_interval(secs => p_ms / 1000.0 + 60)
    where tenant_id = p_tenant and action_id = p_action and closed_at is null;
end
$$;

-- It cannot be reserved any more. Without an effect it fails with the reason as its code; uncertain, it
-- is for a person. Reserved or further: nothing changes. Answers {kind, action}: looked | unknown_action | sign
-- (see ask_receipt).
create function waybill.give_up_action(
  p_tenant text, p_action text, p_reason text, p_detail text, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  v_ask := waybill.ask_receipt(a, case
      when a.state = 'requested' then waybill.closing_receipt(coalesce(a.result_outcome, 'failed'))
      when a.state = 'reconciling' and a.repeatable then 'host_found' end, p_receipt);
  if v_ask is not null then return v_ask; end if;
  if a.state = 'requested' then
    a := waybill.close_action(a, jsonb_build_object('outcome', 'failed', 'errorCode', p_reason,
      'reason', p_reason, 'detail', p_detail), p_receipt);
  elsif a.state = 'reconciling' and a.repeatable then
    a := waybill.keep_receipt(waybill.hand_to_operator(a, p_reason, p_detail), p_receipt);
  end if;
  return jsonb_build_object('kind', 'looked', 'action', waybill.action_facts(a));
end
$$;

-- Somebody wants it stopped. Answers {kind, action}: cancelled (nothing was sent, now nothing will be) |
-- requested (its host is to be told) | already (asked before) | needs_operator (a person decides) |
-- too_late (it is closed) | unknown_action | sign (see ask_receipt). A tombstone answers like the action that
-- it was.
create function waybill.request_cancel(
  p_tenant text, p_action text, p_by text, p_reason text, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  t waybill.route_attempts;
  v_asked boolean;
  v_ends boolean;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then a := waybill.find_action(p_tenant, p_action); end if;
  if a.action_id is null then return jsonb_build_object('kind', 'unknown_action'); end if;
  if a.closed_at is not null then
    return jsonb_build_object('kind', case a.state when 'cancelled' then 'already' else 'too_late' end,
      'action', waybill.action_facts(a));
  end if;
  v_asked := a.cancel_requested_at is not null;
  v_ends := a.state in ('requested', 'awaiting_approval') or a.state = 'reserved' and not a.uncertain;
  v_ask := waybill.ask_receipt(a, case
      when v_ends then waybill.closing_receipt(coalesce(a.result_outcome, 'cancelled'))
      when not v_asked then 'cancel_requested' end, p_receipt);
  if v_ask is not null then return v_ask; end if;
  if not v_asked then
    update waybill.actions set cancel_requested_at = clock_timestamp(), cancel_requested_by = p_by,
        attend_at = clock_timestamp() + interval '2 seconds'
      where tenant_id = p_tenant and action_id = p_action returning * into a;
    insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
      values (p_tenant, p_by, 'action.cancel', 'action/' || p_action, jsonb_build_object('reason', p_reason));
  end if;
  if a.state = 'reserved' and not a.uncertain then
    perform from waybill.routes where tenant_id = p_tenant and action_id = p_action for update;
    select * into t from waybill.route_attempts
      where tenant_id = p_tenant and action_id = p_action and settled_at is null;
    if found then perform waybill.end_attempt(t, 'cancelled', null, '{}'); end if;
  end if;
  if v_ends then
    a := waybill.close_action(a, jsonb_build_object('outcome', 'cancelled'), p_receipt);
  elsif not v_asked then
    a := waybill.keep_receipt(a, p_receipt);
  end if;
  return jsonb_build_object('kind', case when a.closed_at is not null then 'cancelled'
    when a.state = 'needs_operator' then 'needs_operator'
    when v_asked then 'already' else 'requested' end, 'action', waybill.action_facts(a));
end
$$;

-- A person says what became of an action that needs one: p_answer {outcome: completed | failed |
-- cancelled | retry, reason, errorCode}. retry: it is certain that there was no effect, and it starts anew
-- with a new budget and a new span. Answers {kind, action}: resolved | not_waiting | unknown_action | sign (see
-- ask_receipt).
create function waybill.resolve_action(
  p_tenant text, p_action text, p_by text, p_answer jsonb, p_result bytea, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  t waybill.route_attempts;
  v_outcome text := case p_answer->>'outcome'
    when 'completed' then 'succeeded' else p_answer->>'outcome' end;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  if a.state <> 'needs_operator' then
    return jsonb_build_object('kind', 'not_waiting', 'action', waybill.action_facts(a));
  end if;
  v_ask := waybill.ask_receipt(a, case v_outcome when 'retry' then 'action_retried'
    else waybill.closing_receipt(coalesce(a.result_outcome, v_outcome)) end, p_receipt);
  if v_ask is not null then return v_ask; end if;
  select * into t from waybill.route_attempts where tenant_id = p_tenant and action_id = p_action
    order by attempt_no desc limit 1;
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_by, 'action.resolve', 'action/' || p_action, p_answer);
  if v_outcome = 'retry' then
    a := waybill.walk_action(a, array['requested']);
    update waybill.actions set uncertain = false, begin_anew = true, store_epoch = null, waiting_since = null,
        reason = null, detail = null, cancel_requested_at = null, cancel_requested_by = null,
        budget_from = coalesce(t.attempt_no, 0), attend_at = clock_timestamp() + interval '5 seconds',
        deadline_at = clock_timestamp() + (deadline_at - created_at)
      where tenant_id = p_tenant and action_id = p_action returning * into a;
    a := waybill.keep_receipt(a, p_receipt);
  else
    a := waybill.record_outcome(a, t, jsonb_build_object('outcome', v_outcome,
      'errorCode', p_answer->>'errorCode', 'reason', 'resolved', 'detail', p_answer->>'reason'), p_result,
      p_receipt);
  end if;
  return jsonb_build_object('kind', 'resolved', 'action', waybill.action_facts(a));
end
$$;

-- Open actions that are due to be attended to; each is then due again p_claim_ms later. `news`:
-- somebody wants it stopped, or has approved it, which its workflow may not have heard. For waybill_operations.
create function waybill.claim_unattended_actions(p_limit integer, p_claim_ms integer)
returns table (tenant_id text, action_id text, capability_id text, request_digest text,
  affinity_key text, news boolean)
language sql volatile
begin atomic
  with due as materialized (
    select a.tenant_id, a.action_id from waybill.actions a where a.attend_at <= clock_timestamp()
      order by a.attend_at limit p_limit for update skip locked
  )
  update waybill.actions a
    set attend_at = clock_timestamp() + make_interval(secs => p_claim_ms / 1000.0)
    from due where a.tenant_id = due.tenant_id and a.action_id = due.action_id
    returning a.tenant_id, a.action_id, a.capability_id, encode(a.request_sha256, 'hex'),
      a.affinity_key, a.cancel_requested_at is not null
        or a.approval_id is not null and a.state = 'requested';
end;

-- Claims that came to nothing: actions that are due within p_claim_ms are due again p_again_ms from now at the
-- latest; what was put off further meanwhile stays so. For waybill_operations.
create function waybill.give_back_actions(
  p_tenants text[], p_actions text[], p_claim_ms integer, p_again_ms integer
) returns void language sql volatile
begin atomic
  with given as materialized (
    select a.tenant_id, a.action_id from waybill.actions a
      join unnest(p_tenants, p_actions) u (tenant_id, action_id)
        on a.tenant_id = u.tenant_id and a.action_id = u.action_id
      where a.attend_at <= clock_timestamp() + make_interval(secs => p_claim_ms / 1000.0)
      order by a.tenant_id, a.action_id for update of a skip locked
  )
  update waybill.actions a
    set attend_at = least(a.attend_at, clock_timestamp() + make_interval(secs => p_again_ms / 1000.0))
    from given g where a.tenant_id = g.tenant_id and a.action_id = g.action_id;
end;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.hand_to_operator(waybill.actions, text, text),
  waybill.note_action_wait(text, text, text, text, integer),
  waybill.give_up_action(text, text, text, text, jsonb),
  waybill.request_cancel(text, text, text, text, jsonb),
  waybill.resolve_action(text, text, text, jsonb, bytea, jsonb)
  to waybill_data;
grant execute on function
  waybill.claim_unattended_actions(integer, integer),
  waybill.give_back_actions(text[], text[], integer, integer)
  to waybill_operations;
