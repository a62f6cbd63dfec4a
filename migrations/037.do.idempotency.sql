-- Requests that carry an Idempotency-Key: at most one of each key is under way, and its answer is given
-- again to whoever repeats it (docs/architecture, "Idempotency keys").

-- Claims a key for a request, for p_lease_ms on the database's clock; the caller renews that while it is
-- at work. A key whose time is over (p_keep_ms after it was first claimed) counts as new. Answers {kind}:
--   claimed    with claim, which the answer must name, and effectId: p_effect of the key's first claim;
--   answered   with status and answer: give that;
--   in_flight  with waitMs, the rest of the lease;
--   reused     the key belongs to another request, answered or not.
create function waybill.claim_idempotency_key(
  p_tenant text, p_principal text, p_route text, p_key text, p_sha256 bytea, p_lease_ms integer,
  p_keep_ms bigint, p_effect uuid
) returns jsonb language plpgsql as $$
declare
  v_now timestamptz;
  k waybill.idempotency_keys;
begin
  perform set_config('waybill.tenant', p_tenant, true);
  insert into waybill.idempotency_keys (tenant_id, principal, route, idempotency_key, request_sha256,
      effect_id, leased_until, expires_at)
    values (p_tenant, p_principal, p_route, p_key, p_sha256, p_effect,
      clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0),
      clock_timestamp() + make_interval(secs => p_keep_ms / 1000.0))
    on conflict do nothing returning * into k;
  if found then
    return jsonb_build_object('kind', 'claimed', 'claim', k.claim_no, 'effectId', k.effect_id);
  end if;
  select * into k from waybill.idempotency_keys
    where tenant_id = p_tenant and principal = p_principal and route = p_route
      and idempotency_key = p_key for update;
  -- Removed in between, for its age: the next try meets nothing.
  if not found then return jsonb_build_object('kind', 'in_flight', 'waitMs', 0); end if;
  v_now := clock_timestamp();
  if k.expires_at > v_now then
    if k.request_sha256 <> p_sha256 then return jsonb_build_object('kind', 'reused'); end if;
    if k.answer_status is not null then
      return jsonb_build_object('kind', 'answered', 'status', k.answer_status, 'answer', k.answer);
    end if;
    if k.leased_until > v_now then
      return jsonb_build_object('kind', 'in_flight', 'waitMs',
        ceil(extract(epoch from k.leased_until - v_now) * 1000));
    end if;
  end if;
  update waybill.idempotency_keys set
      request_sha256 = p_sha256, claim_no = k.claim_no + 1, answer_status = null, answer = null,
      leased_until = v_now + make_interval(secs => p_lease_ms / 1000.0),
      effect_id = case when k.expires_at > v_now then k.effect_id else p_effect end,
      expires_at = case when k.expires_at > v_now then k.expires_at
        else v_now + make_interval(secs => p_keep_ms / 1000.0) end
    where tenant_id = p_tenant and principal = p_principal and route = p_route
      and idempotency_key = p_key returning * into k;
  return jsonb_build_object('kind', 'claimed', 'claim', k.claim_no, 'effectId', k.effect_id);
end
$$;

-- Goes on with a claim for p_lease_ms (0: gives it up). Answers whether it is still the claim.
create function waybill.renew_idempotency_key(
  p_tenant text, p_principal text, p_route text, p_key text, p_claim integer, p_lease_ms integer
) returns boolean language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  update waybill.idempotency_keys set
      leased_until = clock_timestamp() + make_interval(secs => p_lease_ms / 1000.0)
    where tenant_id = p_tenant and principal = p_principal and route = p_route
      and idempotency_key = p_key and claim_no = p_claim and answer_status is null;
  return found;
end
$$;

-- Keeps the answer of a claim. Answers whether it was still the claim.
create function waybill.keep_idempotent_answer(
  p_tenant text, p_principal text, p_route text, p_key text, p_claim integer, p_status integer,
  p_answer jsonb
) returns boolean language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  update waybill.idempotency_keys set answer_status = p_status, answer = p_answer
    where tenant_id = p_tenant and principal = p_principal and route = p_route
      and idempotency_key = p_key and claim_no = p_claim and answer_status is null;
  return found;
end
$$;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.claim_idempotency_key(text, text, text, text, bytea, integer, bigint, uuid),
  waybill.renew_idempotency_key(text, text, text, text, integer, integer),
  waybill.keep_idempotent_answer(text, text, text, text, integer, integer, jsonb)
  to waybill_data;
