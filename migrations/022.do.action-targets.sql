-- Deliveries whose target is an action: the attempt is open as long as its action is.

-- The newest action that was started for the delivery, with the first bytes of its result; no row: none
-- was. Its id is the delivery's and the number of a series.
create function waybill.delivery_action(p_tenant text, p_delivery uuid)
returns table (action jsonb, result_head bytea) language plpgsql as $$
declare
  v_series integer;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select d.series into v_series from waybill.deliveries d
    where d.tenant_id = p_tenant and d.delivery_id = p_delivery;
  return query select waybill.action_facts(a) || jsonb_build_object('actionId', a.action_id),
      (select substring(r.content for 1024) from waybill.artifacts r
        where r.tenant_id = p_tenant and r.sha256 = a.result_sha256)
    from generate_series(1, v_series) n
      cross join lateral waybill.find_action(p_tenant, format('%s.%s', p_delivery, n)) a
    where a.delivery_id = p_delivery
    order by a.created_at desc limit 1;
end
$$;

-- The delivery waits for its action: why, and until when it looks again by itself. One that the loop of the
-- express lane has started is its workflow's now, which is to be started. Nothing is written once the attempt
-- is closed.
create function waybill.note_following(
  p_tenant text, p_delivery uuid, p_attempt integer, p_detail text, p_again_ms integer
) returns void language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  update waybill.deliveries d set reason = 'action_open', detail = p_detail,
      waiting_since = coalesce(waiting_since, clock_timestamp()),
      driver = 'workflow',
      attend_at = clock_timestamp() + case driver when 'loop' then interval '2 seconds'
        else make_interval(secs => p_again_ms / 1000.0 + 60) end
    where d.tenant_id = p_tenant and d.delivery_id = p_delivery and d.state = 'Dispatched'
      and exists (select from waybill.delivery_attempts t where t.tenant_id = p_tenant
        and t.delivery_id = p_delivery and t.attempt_no = p_attempt and t.closed_at is null);
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.delivery_action(text, uuid),
  waybill.note_following(text, uuid, integer, text, integer)
  to waybill_data;
