-- Acting: what the workflow of an action and its activities ask Postgres to decide. An action that may
-- have had its effect stays uncertain until a host, a result or a person clears it up.

-- What the workflow goes on from: the facts, the newest attempt (null before the first) and the
-- connector of the route, also of what is left of one; null: no such action.
create function waybill.read_action(p_tenant text, p_action text) returns jsonb
  language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return (select waybill.action_facts(a) || jsonb_build_object(
      'connectorId', (select r.connector_id from waybill.routes r
        where r.tenant_id = p_tenant and r.action_id = p_action),
      'attempt', (select jsonb_build_object('attemptNo', t.attempt_no, 'fence', t.fence,
          'open', t.settled_at is null, 'settlement', t.settlement)
        from waybill.route_attempts t where t.tenant_id = p_tenant and t.action_id = p_action
        order by t.attempt_no desc limit 1))
    from waybill.find_action(p_tenant, p_action) a where a.action_id is not null);
end
$$;

-- Moves a locked action along a path of states, each step judged by the guard.
create function waybill.walk_action(a waybill.actions, p_path text[]) returns waybill.actions
  language plpgsql as $$
declare
  v_state text;
begin
  foreach v_state in array p_path loop
    update waybill.actions set state = v_state, version = version + 1
      where tenant_id = a.tenant_id and action_id = a.action_id returning * into a;
  end loop;
  return a;
end
$$;

-- The states between one in which a result comes and the one that it leads to. A late result may come
-- in any: it is a fact, whatever was believed.
create function waybill.way_to(p_from text, p_to text) returns text[] language sql immutable parallel safe
  return case
    when waybill.action_may_follow(p_from, p_to) then '{}'::text[]
    when p_from = 'awaiting_approval' then array['requested', 'reserved', 'unknown', 'reconciling']
    when p_from = 'requested' then array['reserved', 'unknown', 'reconciling']
    when p_from = 'reserved' then array['unknown', 'reconciling']
    when p_from = 'dispatching' then array['cancelling']
    when p_from = 'unknown' then array['reconciling'] end;

-- What the next receipt of the action is signed over.
create function waybill.receipt_facts(a waybill.actions) returns jsonb language sql volatile
  return jsonb_build_object('capabilityId', a.capability_id,
    'requestSha256', encode(a.request_sha256, 'hex'), 'result', waybill.action_result(a),
    'approval', a.approval_id, 'receiptSeq', a.receipt_seq, 'receiptDigest', a.receipt_digest,
    'now', clock_timestamp());

-- The receipt of an action that closes with this outcome.
create function waybill.closing_receipt(p_outcome text) returns text language sql immutable
  return 'action_' || case p_outcome when 'succeeded' then 'completed' else p_outcome end;

-- Null: p_receipt is the receipt of kind p_kind (null: none is due) over the chain of the locked action. Else
-- the answer by which the caller is asked for that one, and nothing may be written.
create function waybill.ask_receipt(a waybill.actions, p_kind text, p_receipt jsonb) returns jsonb
  language sql volatile
  return case when p_kind is not null and coalesce(
      p_receipt->>'kind' <> p_kind or (p_receipt->>'seq')::integer <> a.receipt_seq + 1
        or p_receipt->>'previousDigest' is distinct from a.receipt_digest, true)
    then jsonb_build_object('kind', 'sign', 'wanted', waybill.receipt_facts(a)
      || jsonb_build_object('kind', p_kind)) end;

-- Appends the receipt of a locked action that stays open; the chain was compared before.
create function waybill.keep_receipt(a waybill.actions, p_receipt jsonb) returns waybill.actions
  language plpgsql as $$
begin
  update waybill.actions
    set receipt_seq = (p_receipt->>'seq')::integer, receipt_digest = p_receipt->>'digest'
    where tenant_id = a.tenant_id and action_id = a.action_id returning * into a;
  perform waybill.append_receipts(a.tenant_id, array['action/' || a.action_id], array[p_receipt]);
  return a;
end
$$;

-- Closes a locked action with a result, and with the receipt of that. It is the result that is recorded, if
-- there is one. What was reserved and not sent is given back.
create function waybill.close_action(a waybill.actions, p_result jsonb, p_receipt jsonb)
  returns waybill.actions language plpgsql as $$
declare
  v_result jsonb := coalesce(waybill.action_result(a), p_result);
  v_state text := case v_result->>'outcome'
    when 'succeeded' then 'completed' else v_result->>'outcome' end;
  t waybill.route_attempts;
begin
  if a.closed_at is not null then return a; end if;
  if a.state = 'reserved' then
    select * into t from waybill.route_attempts
      where tenant_id = a.tenant_id and action_id = a.action_id and settled_at is null;
    if found then
      perform waybill.end_attempt(t, 'not_started', null, '{"reason": "closed"}');
      select * into a from waybill.actions where tenant_id = a.tenant_id and action_id = a.action_id;
    end if;
  end if;
  a := waybill.walk_action(a, waybill.way_to(a.state, v_state));
  update waybill.actions set result_outcome = v_result->>'outcome',
      result_sha256 = decode(v_result->>'resultSha256', 'hex'), error_code = v_result->>'errorCode',
      state = v_state, version = version + 1, closed_at = clock_timestamp(), attend_at = null,
      uncertain = false, repeatable = false, waiting_since = null,
      progress_note = null, progress_percent = null, progress_at = null,
      reason = p_result->>'reason', detail = p_result->>'detail',
      receipt_seq = (p_receipt->>'seq')::integer, receipt_digest = p_receipt->>'digest'
    where tenant_id = a.tenant_id and action_id = a.action_id returning * into a;
  perform waybill.append_receipts(a.tenant_id, array['action/' || a.action_id], array[p_receipt]);
  return a;
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.read_action(text, text),
  waybill.walk_action(waybill.actions, text[]),
  waybill.way_to(text, text),
  waybill.receipt_facts(waybill.actions),
  waybill.closing_receipt(text),
  waybill.ask_receipt(waybill.actions, text, jsonb),
  waybill.keep_receipt(waybill.actions, jsonb),
  waybill.close_action(waybill.actions, jsonb, jsonb)
  to waybill_data;
