-- Instances change their configuration by newer revisions only, and a publication keeps routing
-- waiting for its last step alone.

alter table waybill.instances
  -- What is not secret, as its hosts understand it; null: nothing.
  add column config jsonb check (config is null or jsonb_typeof(config) = 'object'),
  -- Where the account's secret is kept: a reference, never the value.
  add column secret_ref text check (length(secret_ref) between 1 and 1000),
  -- What signs that which is sent, the newest first: references, too.
  add column signing_secret_refs text[] not null default '{}'
    check (cardinality(signing_secret_refs) <= 2 and array_position(signing_secret_refs, null) is null),
  -- Which revision of version, grants, status, config and secrets this is.
  add column config_revision bigint not null default 1 check (config_revision >= 1);

-- Takes one of the two locks of a publication until the end of the transaction; false: it was not to
-- be had in time, and the transaction goes on. 'publisher' keeps publishers apart and nobody else
-- takes it; under it a publisher may think for a minute, as long as comparing a large fleet can take.
-- 'publication' is shared by all who route: whoever comes later queues behind the one that waits for
-- it, so that wait is short, and from then on the publisher is given no more time than anybody.
create function waybill.take_publication_lock(p_lock text, p_wait_ms integer) returns boolean
  language plpgsql as $$
declare
  v_usual text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', p_wait_ms::text, true);
  perform pg_advisory_xact_lock(hashtextextended('waybill.' || p_lock, 0));
  perform set_config('lock_timeout', v_usual, true);
  perform set_config('idle_in_transaction_session_timeout', case p_lock when 'publisher' then '60000'
    else (select reset_val from pg_settings where name = 'idle_in_transaction_session_timeout') end, true);
  return true;
exception
  when lock_not_available then
    return false;
end
$$;

revoke execute on function waybill.take_publication_lock(text, integer) from public;
grant execute on function waybill.take_publication_lock(text, integer) to waybill_control;
