-- Deliveries, their attempts and dedup keys, and the guard of the state machine.

create function waybill.delivery_may_follow(p_from text, p_to text) returns boolean
  language sql immutable parallel safe
  return case p_from
    when 'Received' then p_to in ('Verified', 'Rejected', 'Failed')
    when 'Verified' then p_to in ('Deduplicated', 'Dispatched', 'Failed')
    when 'Dispatched' then p_to in ('Acknowledged', 'Failed')
    when 'Failed' then p_to = 'Replayed'
    when 'Replayed' then p_to in ('Dispatched', 'Failed')
    else false
  end;

create table waybill.deliveries (
  tenant_id text not null,
  delivery_id uuid not null,
  direction text not null check (direction in ('inbound', 'outbound')),
  connector_id text not null,
  instance_id text not null,
  subscription_id text,
  external_id text,
  event_type text not null,
  -- null for Rejected: an unverified request claims no key.
  dedup_key text,
  state text not null check (state in
    ('Received', 'Verified', 'Rejected', 'Deduplicated', 'Dispatched', 'Acknowledged', 'Failed', 'Replayed')),
  -- Grows with every change of state.
  version integer not null default 1,
  payload_sha256 bytea not null check (length(payload_sha256) = 32),
  payload_bytes integer not null check (payload_bytes >= 0),
  content_type text,
  -- Non-secret headers of the vendor, kept for the target: [["name", "value"], …].
  kept_headers jsonb not null default '[]'::jsonb,
  -- How the request was verified: scheme, which secret, skew.
  evidence jsonb not null default '{}'::jsonb,
  duplicate_of uuid,
  -- The rejected delivery whose bytes this one was made of, after its secret had been corrected.
  readmitted_from uuid,
  -- A duplicate whose bytes differ from the first one's: for a person to look at.
  conflict boolean not null default false,
  -- Why it was rejected, failed or is held, or why its last attempt did not succeed; null while
  -- nothing is wrong.
  reason text,
  detail text,
  -- Attempts over all series; also the fence of the newest one.
  attempts integer not null default 0 check (attempts >= 0),
  series integer not null default 1 check (series >= 1),
  series_attempts integer not null default 0 check (series_attempts >= 0),
  series_started_at timestamptz,
  next_attempt_at timestamptz,
  -- Since when it waits for time or a person, over all attempts of a series; null while it moves by
  -- itself.
  waiting_since timestamptz,
  -- By then a loop makes sure that a workflow attends to it; null when nothing is left to do.
  attend_at timestamptz,
  -- Its subscription's when it was accepted.
  lane text not null default 'durable' check (lane in ('durable', 'express')),
  -- Who makes the next move. An express one is the loop's until it is given to its workflow, for good.
  driver text not null default 'workflow' check (driver in ('workflow', 'loop')),
  -- It failed in the loop's hands: by then its workflow is started, for people to see; null: it was.
  show_at timestamptz,
  -- Of an outbound one: {capabilityId, sideEffect, requestedBy, requestDigest, budget: {attempts, deadlineMs},
  -- policyDecision, approvals: [{approvalId, approver, key, expiresAt}]}. Its dedup key is the caller's
  -- idempotency key, its event type the operation.
  sending jsonb,
  -- No attempt of an outbound one is opened later: the caller's budget.
  deadline_at timestamptz,
  -- An outbound one may have had its effect, and nobody knows.
  uncertain boolean not null default false,
  -- Its row is from a backup: whether it was sent since, nobody knows.
  restored boolean not null default false,
  receipt_seq integer not null default 0,
  receipt_digest text,
  event_seq integer not null default 0,
  received_at timestamptz not null default clock_timestamp(),
  -- When its stored bytes were first found whole, which is told as DeliveryReceived.
  verified_at timestamptz,
  settled_at timestamptz,
  constraint deliveries_settled check
    ((settled_at is not null) = (state in ('Rejected', 'Deduplicated', 'Acknowledged', 'Failed'))),
  constraint deliveries_attended check
    ((attend_at is not null) = (state in ('Received', 'Verified', 'Dispatched', 'Replayed'))),
  constraint deliveries_driven check (driver = 'workflow' or (lane = 'express' and state <> 'Failed')),
  constraint deliveries_shown check (show_at is null or state = 'Failed'),
  constraint deliveries_keyed check (dedup_key is not null or state = 'Rejected'),
  constraint deliveries_sent check ((sending is not null) = (direction = 'outbound')
    and (direction = 'outbound' or (deadline_at is null and not uncertain and not restored))),
  constraint deliveries_duplicate check ((duplicate_of is not null) = (state = 'Deduplicated'))
) with (fillfactor = 80);

create index deliveries_by_time on waybill.deliveries (tenant_id, received_at desc, delivery_id desc);
create index deliveries_by_connector on waybill.deliveries
  (tenant_id, connector_id, received_at desc, delivery_id desc);
create index deliveries_by_subscription on waybill.deliveries
  (tenant_id, subscription_id, received_at desc, delivery_id desc);
create index deliveries_for_people on waybill.deliveries
  (tenant_id, state, received_at desc, delivery_id desc) where state in ('Failed', 'Rejected');
-- Few at a time, in whatever state: not one index entry more for each of them.
create index deliveries_under_way on waybill.deliveries (tenant_id, received_at desc, delivery_id desc)
  where state in ('Received', 'Verified', 'Dispatched', 'Replayed');
create index deliveries_by_reason on waybill.deliveries
  (tenant_id, reason, received_at desc, delivery_id desc) where reason is not null;
create index deliveries_by_external_id on waybill.deliveries (tenant_id, external_id);
-- Whether other deliveries have the same bytes.
create index deliveries_by_payload on waybill.deliveries (tenant_id, payload_sha256);
-- After every other one that is of all deliveries of a tenant. While nobody has counted the rows they seem to
-- cost the same, the newest is used, and a plan that was made then is kept.
alter table waybill.deliveries add primary key (tenant_id, delivery_id);
-- What was rejected is readmitted once.
create unique index deliveries_readmitted on waybill.deliveries (tenant_id, readmitted_from)
  where readmitted_from is not null;
-- One delivery an idempotency key, as long as it is kept.
create unique index deliveries_by_idempotency_key on waybill.deliveries (tenant_id, instance_id, dedup_key)
  where direction = 'outbound';
-- Every live delivery, most overdue first, but those that wait for the loop of the express lane.
create index deliveries_to_attend on waybill.deliveries (attend_at)
  where attend_at is not null and not (driver = 'loop' and state = 'Received');
-- Those, by what shares a target, oldest first.
create index deliveries_for_the_loop on waybill.deliveries (tenant_id, subscription_id, received_at, delivery_id)
  where driver = 'loop' and state = 'Received';
create index deliveries_to_show on waybill.deliveries (show_at) where show_at is not null;

create function waybill.guard_delivery_state() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    raise exception 'a delivery cannot be born %', new.state using errcode = 'WB001';
  end if;
  -- The first attempt takes both steps in one: Received over Verified to Dispatched.
  if old.state = 'Received' and new.state = 'Dispatched' and new.version = old.version + 2
      and old.verified_at is null and new.verified_at is not null then
    return new;
  end if;
  if not waybill.delivery_may_follow(old.state, new.state) then
    raise exception 'delivery %: % cannot follow %', old.delivery_id, new.state, old.state
      using errcode = 'WB001';
  end if;
  return new;
end
$$;
create trigger deliveries_birth before insert on waybill.deliveries for each row
  when (new.state not in ('Received', 'Rejected', 'Deduplicated'))
  execute function waybill.guard_delivery_state();
create trigger deliveries_transition before update of state on waybill.deliveries for each row
  when (old.state is distinct from new.state)
  execute function waybill.guard_delivery_state();

create table waybill.delivery_attempts (
  tenant_id text not null,
  delivery_id uuid not null,
  attempt_no integer not null check (attempt_no >= 1),
  series integer not null,
  -- Who opened it: workflow run and worker, for people.
  owner text not null,
  target_id text not null,
  -- Of an outbound one: what it asks the vendor for, by operation and configuration.
  sent_as bytea,
  -- Of an outbound one: the vendor changes nothing for it, whether or not it was taken.
  only_reads boolean not null default false,
  opened_at timestamptz not null default clock_timestamp(),
  deadline_at timestamptz not null,
  closed_at timestamptz,
  outcome text check (outcome in ('acknowledged', 'refused', 'not_sent', 'unknown')),
  reason text,
  detail text,
  status integer,
  duration_ms integer,
  answer_sha256 text,
  -- The answer's first bytes, as text for people.
  answer_head text,
  -- What a stale worker reported after the attempt was closed without it.
  late_evidence jsonb,
  primary key (tenant_id, delivery_id, attempt_no),
  foreign key (tenant_id, delivery_id) references waybill.deliveries,
  constraint delivery_attempts_closed check ((closed_at is null) = (outcome is null))
);
create index delivery_attempts_in_flight on waybill.delivery_attempts (tenant_id, target_id)
  where closed_at is null;
-- Behind the other one of what is open, as with deliveries.
create unique index delivery_attempts_one_open on waybill.delivery_attempts (tenant_id, delivery_id)
  where closed_at is null;

-- What has been seen, for as long as the dedup window lasts.
create table waybill.dedup_keys (
  tenant_id text not null,
  subscription_id text not null,
  dedup_key text not null check (length(dedup_key) between 1 and 512),
  delivery_id uuid not null,
  payload_sha256 bytea not null,
  expires_at timestamptz not null,
  primary key (tenant_id, subscription_id, dedup_key)
);
create index dedup_keys_expired on waybill.dedup_keys (expires_at);

-- The bytes of rejected requests, for a short time and up to a bound per tenant and subscription. They are kept apart from artifacts: nobody has
-- vouched for them, and forgetting them must never touch the bytes of a real delivery.
create table waybill.rejected_payloads (
  tenant_id text not null,
  delivery_id uuid not null,
  subscription_id text not null,
  content bytea not null,
  -- What it can be judged again by: {ref, method, query, headers: [["name", "value"], …]} with the
  -- headers that its scheme reads; null where those hold the secret itself.
  request jsonb,
  size_bytes integer not null,
  expires_at timestamptz not null,
  primary key (tenant_id, delivery_id),
  foreign key (tenant_id, delivery_id) references waybill.deliveries
);
create index rejected_payloads_expired on waybill.rejected_payloads (expires_at);
