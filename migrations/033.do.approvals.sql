-- Approvals: who may approve with a key of their own, and for how long an action waits for one.

alter table waybill.settings
  -- {name: {keys: [did:key], tenants: [tenant] | null}}; tenants null: every tenant.
  add column trusted_approvers jsonb not null default '{}'
    check (jsonb_typeof(trusted_approvers) = 'object'),
  add column approval_ttl_ms bigint not null default 86400000
    check (approval_ttl_ms between 1000 and 2592000000);

-- What was asked of people, once an action, and what they said. It is bound to the request: an action
-- keeps its request for ever. The action's own row says under which approval it may be sent.
create table waybill.approvals (
  tenant_id text not null,
  action_id text not null,
  request_sha256 bytea not null check (length(request_sha256) = 32),
  -- withdrawn: the action went on without it, or ended.
  state text not null check (state in ('asked', 'approved', 'denied', 'expired', 'withdrawn')),
  asked_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  decided_at timestamptz,
  decided_by text,
  -- api: whoever has a token with the scope; token: signed by an approver; temporal_ui: its name is a claim;
  -- delivery: what it sends was approved.
  decided_via text check (decided_via in ('api', 'token', 'temporal_ui', 'delivery')),
  reason text,
  -- The signed approval, as evidence.
  token text check (length(token) <= 4096),
  primary key (tenant_id, action_id),
  foreign key (tenant_id, action_id) references waybill.actions on delete cascade,
  constraint approvals_decided check ((state = 'asked') = (decided_at is null)),
  constraint approvals_by check ((state in ('approved', 'denied')) = (decided_by is not null))
);
create index approvals_waiting on waybill.approvals (tenant_id, asked_at, action_id)
  where state = 'asked';

create function waybill.approval_facts(p waybill.approvals) returns jsonb language sql volatile
  return jsonb_build_object('state', p.state, 'expiresAt', p.expires_at,
    'expiresInMs', waybill.ms_until(p.expires_at), 'decidedBy', p.decided_by, 'reason', p.reason);

-- An action that waits for an approval no longer waits for it once it is anything else.
create function waybill.withdraw_approval() returns trigger language plpgsql as $$
begin
  update waybill.approvals set state = 'withdrawn', decided_at = clock_timestamp()
    where tenant_id = new.tenant_id and action_id = new.action_id and state = 'asked';
  return null;
end
$$;
create trigger actions_approval after update of state on waybill.actions for each row
  when (old.state = 'awaiting_approval' and new.state <> 'awaiting_approval')
  execute function waybill.withdraw_approval();

-- Asks for an approval, or tells what was asked before: however often it is called, it asks once.
-- p_attend_ms: how long the caller attends to the action before a loop makes sure that somebody does.
-- Answers {kind, action, approval}: asked | looked (the action wants none now) | unknown_action.
create function waybill.ask_approval(p_tenant text, p_action text, p_attend_ms integer) returns jsonb
  language plpgsql as $$
declare
  a waybill.actions;
  p waybill.approvals;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  if a.approval_id is not null or a.state not in ('requested', 'awaiting_approval') then
    return jsonb_build_object('kind', 'looked', 'action', waybill.action_facts(a));
  end if;
  insert into waybill.approvals as w (tenant_id, action_id, request_sha256, state, expires_at)
    select p_tenant, p_action, a.request_sha256, 'asked', least(a.deadline_at, clock_timestamp()
        + make_interval(secs => s.approval_ttl_ms / 1000.0)) from waybill.settings s
    on conflict (tenant_id, action_id) do update
      set state = 'asked', asked_at = excluded.asked_at, expires_at = excluded.expires_at, decided_at = null
      where w.state = 'withdrawn';
  select * into p from waybill.approvals where tenant_id = p_tenant and action_id = p_action;
  if a.state = 'requested' then
    a := waybill.walk_action(a, array['awaiting_approval']);
  end if;
  update waybill.actions set reason = 'awaiting_approval', detail = 'it has not been approved yet',
      waiting_since = coalesce(waiting_since, clock_timestamp()),
      attend_at = clock_timestamp() + make_interval(secs => p_attend_ms / 1000.0)
    where tenant_id = p_tenant and action_id = p_action returning * into a;
  return jsonb_build_object('kind', 'asked', 'action', waybill.action_facts(a),
    'requestedBy', a.requested_by, 'approval', waybill.approval_facts(p));
end
$$;

-- Nobody has approved it in time: it fails. Answers {kind, action}: looked | unknown_action | sign (see
-- ask_receipt).
create function waybill.expire_approval(p_tenant text, p_action text, p_receipt jsonb) returns jsonb
  language plpgsql as $$
declare
  a waybill.actions;
  p waybill.approvals;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then return jsonb_build_object('kind', 'unknown_action'); end if;
  select * into p from waybill.approvals where tenant_id = p_tenant and action_id = p_action;
  if a.state = 'awaiting_approval' and p.state = 'asked' and p.expires_at <= clock_timestamp() then
    v_ask := waybill.ask_receipt(a, waybill.closing_receipt(coalesce(a.result_outcome, 'failed')), p_receipt);
    if v_ask is not null then return v_ask; end if;
    update waybill.approvals set state = 'expired', decided_at = clock_timestamp()
      where tenant_id = p_tenant and action_id = p_action;
    a := waybill.close_action(a, jsonb_build_object('outcome', 'failed', 'errorCode', 'approval_expired',
      'reason', 'approval_expired', 'detail', 'nobody has approved it in time'), p_receipt);
  end if;
  return jsonb_build_object('kind', 'looked', 'action', waybill.action_facts(a));
end
$$;

-- What a person decides: p_decision {decision: approved | denied, approvalId, by, reason, via, token}. The
-- first decision counts, and an approval that has expired takes none. An action that needs an approval and
-- was not yet asked about may be decided, too. Via `delivery` it is the newest approval of the action's own
-- delivery, which was verified when that was stored, while it still counts, and no other. Answers {kind,
-- action, approval}: decided | already (the same was decided before) | not_waiting (approval: what it is
-- instead; null: none was ever asked for) | approver_is_requester | unknown_action | sign (see ask_receipt).
create function waybill.decide_approval(
  p_tenant text, p_action text, p_decision jsonb, p_receipt jsonb
) returns jsonb language plpgsql as $$
declare
  a waybill.actions;
  p waybill.approvals;
  v_decision text := p_decision->>'decision';
  v_kind text;
  v_ask jsonb;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions where tenant_id = p_tenant and action_id = p_action for update;
  if not found then a := waybill.find_action(p_tenant, p_action); end if;
  if a.action_id is null then return jsonb_build_object('kind', 'unknown_action'); end if;
  select * into p from waybill.approvals where tenant_id = p_tenant and action_id = p_action;
  v_kind := case
    when v_decision = 'approved' and p_decision->>'by' = a.requested_by then 'approver_is_requester'
    when p.state = v_decision then 'already'
    when a.closed_at is not null or a.result_outcome is not null or a.approval_id is not null then 'not_waiting'
    when p_decision->>'via' = 'delivery' and not exists (select from waybill.deliveries d
        where d.tenant_id = p_tenant and d.delivery_id = a.delivery_id and d.direction = 'outbound'
          and d.sending->'approvals'->-1->>'approvalId' = p_decision->>'approvalId'
          and d.sending->'approvals'->-1->>'approver' = p_decision->>'by'
          and waybill.approval_fault(d) is null) then 'not_waiting'
    when a.state = 'awaiting_approval' and p.state = 'asked' then
      case when p.expires_at <= clock_timestamp() then 'not_waiting' end
    when a.state = 'requested' and waybill.approval_needed(p_tenant, a.capability_id) then null
    else 'not_waiting' end;
  if v_kind is not null then
    return jsonb_build_object('kind', v_kind, 'action', waybill.action_facts(a),
      'approval', case when p.action_id is not null then waybill.approval_facts(p)
        || jsonb_build_object('state', case when p.state = 'asked' then 'expired' else p.state end) end);
  end if;
  v_ask := waybill.ask_receipt(a, case v_decision when 'approved' then 'approval_given'
    else 'action_failed' end, p_receipt);
  if v_ask is not null then return v_ask; end if;
  insert into waybill.approvals as w (tenant_id, action_id, request_sha256, state, expires_at, decided_at,
      decided_by, decided_via, reason, token)
    values (p_tenant, p_action, a.request_sha256, v_decision, a.deadline_at, clock_timestamp(),
      p_decision->>'by', p_decision->>'via', p_decision->>'reason', p_decision->>'token')
    on conflict (tenant_id, action_id) do update set state = excluded.state, decided_at = excluded.decided_at,
      decided_by = excluded.decided_by, decided_via = excluded.decided_via, reason = excluded.reason,
      token = excluded.token
    returning * into p;
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_decision->>'by', case v_decision when 'approved' then 'action.approve'
      else 'action.deny' end, 'action/' || p_action, p_decision - 'token' - 'by');
  if v_decision = 'approved' then
    if a.state = 'awaiting_approval' then a := waybill.walk_action(a, array['requested']); end if;
    update waybill.actions set approval_id = p_decision->>'approvalId', waiting_since = null, reason = null,
        detail = null, attend_at = clock_timestamp() + interval '2 seconds'
      where tenant_id = p_tenant and action_id = p_action returning * into a;
    a := waybill.keep_receipt(a, p_receipt);
  else
    a := waybill.close_action(a, jsonb_build_object('outcome', 'failed', 'errorCode', 'approval_denied',
      'reason', 'approval_denied', 'detail', p_decision->>'reason'), p_receipt);
  end if;
  return jsonb_build_object('kind', 'decided', 'action', waybill.action_facts(a),
    'approval', waybill.approval_facts(p));
end
$$;

alter table waybill.approvals enable row level security;
create policy one_tenant on waybill.approvals to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.approvals to waybill_operations using (true);
grant select, insert, update on waybill.approvals to waybill_data;
grant select, update on waybill.approvals to waybill_operations;
grant select on waybill.approvals to waybill_observer;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function waybill.withdraw_approval() to waybill_data, waybill_operations;
grant execute on function
  waybill.approval_facts(waybill.approvals),
  waybill.ask_approval(text, text, integer),
  waybill.expire_approval(text, text, jsonb),
  waybill.decide_approval(text, text, jsonb, jsonb)
  to waybill_data;
