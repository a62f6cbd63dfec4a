-- What a host says of how far an action is: for people, proof of nothing.

-- p_progress: {note, percent}, or null: nothing was said. The same word again is no news.
create function waybill.write_progress(a waybill.actions, p_progress jsonb) returns void
  language sql volatile
begin atomic
  update waybill.actions set progress_note = p_progress->>'note',
      progress_percent = (p_progress->>'percent')::smallint, progress_at = clock_timestamp()
    where tenant_id = a.tenant_id and action_id = a.action_id and closed_at is null
      and p_progress->>'note' is not null
      and (progress_note, progress_percent)
        is distinct from (p_progress->>'note', (p_progress->>'percent')::smallint);
end;

-- Of the attempt with this fence, while it is open: a late word about an earlier one is dropped.
create function waybill.note_progress(
  p_tenant text, p_action text, p_fence bigint, p_progress jsonb
) returns void language plpgsql as $$
declare
  a waybill.actions;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  select * into a from waybill.actions x where tenant_id = p_tenant and action_id = p_action
    and exists (select from waybill.route_attempts t where t.tenant_id = p_tenant
      and t.action_id = p_action and t.fence = p_fence and t.settled_at is null)
    for update of x;
  if found then perform waybill.write_progress(a, p_progress); end if;
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.write_progress(waybill.actions, jsonb),
  waybill.note_progress(text, text, bigint, jsonb)
  to waybill_data;
