-- What every part of Waybill shares: settings, artifacts, receipts, events, audit.
--
-- Conventions of all migrations: tenant_id first in every key; instants end in _at and are always
-- the database's clock; a table that holds a tenant's rows has row-level security, whose tenant is
-- the transaction's setting waybill.tenant (set by the SQL functions from their parameter).

create function waybill.current_tenant() returns text
  language sql stable parallel safe
  return nullif(current_setting('waybill.tenant', true), '');

-- The deployment's settings: one row, changed by a publication, read at use.
create table waybill.settings (
  only_row boolean primary key default true check (only_row),
  replay_window_minutes integer not null default 60 check (replay_window_minutes between 1 and 43200),
  default_retry jsonb not null,
  rejected_bytes_minutes integer not null default 60 check (rejected_bytes_minutes between 1 and 10080)
);
-- Always there: receiving and dispatching read it. A test holds it against the domain's default.
insert into waybill.settings (default_retry) values ('{
  "attempts": 5, "backoff": {"kind": "exponential", "baseMs": 30000, "maxMs": 3600000},
  "jitter": 0.1, "totalSpanMs": null, "retryAfterCapMs": 3600000}');

-- Bytes by tenant and SHA-256: payloads, and later certification evidence.
create table waybill.artifacts (
  tenant_id text not null,
  sha256 bytea not null check (length(sha256) = 32),
  content bytea not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, sha256)
);

-- One chain of signed receipts per subject (delivery/<id>, action/<id>), each naming the one before.
create table waybill.receipts (
  tenant_id text not null,
  subject text not null,
  seq integer not null check (seq >= 1),
  kind text not null,
  jws text not null,
  -- A regular expression that says the same takes 10 µs.
  digest text not null check (length(digest) = 64 and ltrim(digest, '0123456789abcdef') = ''),
  previous_digest text check (length(previous_digest) = 64 and ltrim(previous_digest, '0123456789abcdef') = ''),
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, subject, seq),
  check ((seq = 1) = (previous_digest is null))
);

-- What is attested of a tenant's chains, itself a chain: a signed Merkle root over chains that were closed, or
-- what retention has removed.
create table waybill.receipt_checkpoints (
  tenant_id text not null,
  checkpoint_no integer not null check (checkpoint_no >= 1),
  kind text not null check (kind in ('chains', 'pruned')),
  jws text not null,
  digest text not null check (digest ~ '^[0-9a-f]{64}$'),
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, checkpoint_no)
);

-- Integration events, written in the transaction of the state they tell of. An event's identity is
-- its aggregate and the aggregate's own sequence, given under the aggregate's row lock.
create table waybill.outbox_events (
  tenant_id text not null,
  aggregate text not null,
  aggregate_seq integer not null check (aggregate_seq >= 1),
  -- Order of insertion, and so also of one aggregate's events. A transaction may commit a lower one
  -- after a higher one: no reader goes by it.
  position bigint generated always as identity,
  -- Place in the feed, given once the event is committed; null until then.
  feed_no bigint,
  topic text not null,
  payload jsonb not null,
  occurred_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, aggregate, aggregate_seq)
);
create unique index outbox_events_position on waybill.outbox_events (position) where feed_no is null;
create unique index outbox_events_feed on waybill.outbox_events (tenant_id, feed_no)
  where feed_no is not null;

-- Requests that carried an Idempotency-Key, and their answers once they are there. Without one a request
-- is under way for as long as its lease; then another one with the same key takes over.
create table waybill.idempotency_keys (
  tenant_id text not null,
  principal text not null,
  route text not null,
  idempotency_key text not null check (length(idempotency_key) between 1 and 255),
  request_sha256 bytea not null check (length(request_sha256) = 32),
  -- Grows with each claim: who comes late with an answer cannot write over that of another claim.
  claim_no integer not null default 1 check (claim_no >= 1),
  -- Names what the request makes, the same for each claim: who takes over finds what is there already.
  effect_id uuid not null,
  leased_until timestamptz not null,
  answer_status integer,
  -- {type, body}: content type, and the body's exact text.
  answer jsonb,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  primary key (tenant_id, principal, route, idempotency_key),
  check ((answer_status is null) = (answer is null))
);
create index idempotency_keys_expired on waybill.idempotency_keys (expires_at);

-- What people did. tenant_id is null for what belongs to the platform (a publication).
create table waybill.audit_log (
  audit_id bigint generated always as identity primary key,
  tenant_id text,
  at timestamptz not null default clock_timestamp(),
  actor text not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}'::jsonb
);
create index audit_log_by_subject on waybill.audit_log (tenant_id, subject, audit_id);
