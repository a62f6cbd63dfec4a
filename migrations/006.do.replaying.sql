-- Replay, decided on the row; and the claim by which a loop attends to live deliveries.

-- The delivery's facts, for signing a receipt; null when there is none of that id in the tenant.
create function waybill.read_delivery_facts(p_tenant text, p_delivery uuid) returns jsonb
  language plpgsql as $$
declare
  d waybill.deliveries;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries where tenant_id = p_tenant and delivery_id = p_delivery;
  return case when found then waybill.delivery_facts(d) end;
end
$$;

-- Failed → Replayed with a new series and a new budget. Answers:
--   replayed           just now;
--   already_replaying  an earlier replay is under way: two clicks are one replay;
--   not_failed         with the state it is in;
--   uncertain          an outbound one that may have had its effect, and that is not confirmed;
--   approval_missing   such a one of the class external, or one whose approval counts no more, without a new one;
--   chain_moved | unknown_delivery
create function waybill.replay_delivery(
  p_tenant text, p_delivery uuid, p_replayed_by text, p_reason text, p_receipt jsonb,
  p_allowed jsonb default '{}'   -- confirmUncertain, approval: as in the row
) returns jsonb language plpgsql as $$
declare
  d waybill.deliveries;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into d from waybill.deliveries
    where tenant_id = p_tenant and delivery_id = p_delivery for update;
  if not found then return jsonb_build_object('answer', 'unknown_delivery'); end if;
  if d.state <> 'Failed' then
    return jsonb_build_object('answer',
      case when d.series > 1 and d.attend_at is not null then 'already_replaying' else 'not_failed' end,
      'facts', waybill.delivery_facts(d));
  end if;
  if d.uncertain and not coalesce((p_allowed->>'confirmUncertain')::boolean, false) then
    return jsonb_build_object('answer', 'uncertain');
  end if;
  -- What was approved was one effect; whether there is to be a second one is decided anew.
  -- So is what was approved for a time that is over, or by whom nobody trusts any more.
  if d.sending->>'sideEffect' = 'external' and (d.uncertain or waybill.approval_fault(d) is not null) and (
      coalesce(p_allowed->'approval', 'null') = 'null'
      or d.sending->'approvals' @> jsonb_build_array(
        jsonb_build_object('approvalId', p_allowed->'approval'->'approvalId'))) then
    return jsonb_build_object('answer', 'approval_missing');
  end if;
  if waybill.chain_moved(d, p_receipt) then
    return jsonb_build_object('answer', 'chain_moved', 'facts', waybill.delivery_facts(d));
  end if;
  if d.direction = 'outbound' then
    update waybill.deliveries set restored = false,
        deadline_at = clock_timestamp()
          + make_interval(secs => (d.sending->'budget'->>'deadlineMs')::numeric / 1000.0),
        sending = case when coalesce(p_allowed->'approval', 'null') = 'null' then sending
          else jsonb_set(sending, '{approvals}', (sending->'approvals') || jsonb_build_array(p_allowed->'approval')) end
      where tenant_id = p_tenant and delivery_id = p_delivery;
  end if;
  update waybill.deliveries set
      state = 'Replayed', version = version + 1, series = series + 1, series_attempts = 0,
      series_started_at = null, next_attempt_at = null, settled_at = null, waiting_since = null,
      show_at = null,
      reason = null, detail = null, attend_at = clock_timestamp() + interval '2 seconds',
      event_seq = event_seq + 1, receipt_seq = receipt_seq + 1, receipt_digest = p_receipt->>'digest'
    where tenant_id = p_tenant and delivery_id = p_delivery;
  -- Its bytes are wanted again, where retention has not removed them.
  update waybill.artifacts set release_at = null
    where tenant_id = p_tenant and sha256 = d.payload_sha256 and release_at is not null;
  perform waybill.append_receipts(d.tenant_id, array['delivery/' || d.delivery_id], array[p_receipt]);
  perform waybill.emit_delivery_events(p_tenant, array[p_delivery], array[d.event_seq + 1],
    'connectors.deliveries.v1.delivery-replayed',
    array[jsonb_build_object('replayedBy', p_replayed_by)]);
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, p_replayed_by, 'replay', 'delivery/' || p_delivery,
            jsonb_build_object('reason', p_reason, 'series', d.series + 1));
  return jsonb_build_object('answer', 'replayed', 'series', d.series + 1);
end
$$;

-- Claims live deliveries that nobody has attended to in time, most overdue first, and pushes their
-- time on, so that several loops share the work. Across tenants: for waybill_operations.
create function waybill.claim_unattended(p_limit integer, p_push_ms integer)
returns table (tenant_id text, delivery_id uuid, state text, connector_id text, event_type text,
               subscription_id text, wake boolean) language sql
begin atomic
  with due as materialized (
    select d.tenant_id, d.delivery_id from waybill.deliveries d
      where d.attend_at <= clock_timestamp() and not (d.driver = 'loop' and d.state = 'Received')
      order by d.attend_at limit p_limit for update skip locked
  )
  update waybill.deliveries d
    set attend_at = clock_timestamp() + make_interval(secs => p_push_ms / 1000.0)
    from due where d.tenant_id = due.tenant_id and d.delivery_id = due.delivery_id
    -- Its workflow, if there is one, sleeps until it is told.
    returning d.tenant_id, d.delivery_id, d.state, d.connector_id, d.event_type, d.subscription_id,
      d.state = 'Replayed' or d.reason is not distinct from 'released';
end;
