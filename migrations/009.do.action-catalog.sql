-- The part of the catalog that actions need: capability contracts, who offers them, tenants' bindings
-- with their credentials and quotas, and how the deployment judges its hosts.

alter table waybill.settings
  -- Unknown outcomes in a row, caused by the host, that open its circuit; 0: never.
  add column circuit_unknowns integer not null default 5 check (circuit_unknowns between 0 and 1000),
  add column circuit_open_ms integer not null default 30000 check (circuit_open_ms between 100 and 3600000),
  -- Reservations that a half-open circuit admits at once, over all processes.
  add column circuit_probes integer not null default 2 check (circuit_probes between 1 and 100),
  add column replica_lease_ms integer not null default 30000 check (replica_lease_ms between 1000 and 600000),
  -- Heartbeats in a row that say otherwise before a replica's readiness changes.
  add column replica_hysteresis integer not null default 3 check (replica_hysteresis between 1 and 20);

alter table waybill.connector_versions
  -- null: nothing of this version can be run.
  add column manifest_digest text check (manifest_digest ~ '^[0-9a-f]{64}$'),
  -- {"permits", "perMs", "burst"}, per instance; null: no limit.
  add column rate_limit jsonb check (rate_limit is null or coalesce((rate_limit->>'permits')::integer >= 1
    and (rate_limit->>'perMs')::integer >= 1 and (rate_limit->>'burst')::integer >= 1, false)),
  -- What else a version keeps to, beside the contracts of its capabilities.
  add column profiles text[] not null default '{}'
    check (cardinality(profiles) <= 100 and array_position(profiles, null) is null),
  -- SHA-256 (hex) of what its hosts run; null: nothing can vouch for this version.
  add column artifact_digest text check (artifact_digest ~ '^[0-9a-f]{64}$'),
  -- infinity: nothing is required, or it never expires; -infinity: something is missing.
  add column evidence_until timestamptz not null default 'infinity';

-- One contract per id for ever: no role may change a row.
create table waybill.capabilities (
  capability_id text primary key check (length(capability_id) between 1 and 200),
  interface_name text not null,
  side_effect text not null check (side_effect in ('read', 'sandbox', 'shared-write', 'external')),
  recovery text not null check (recovery in ('provider_key', 'lookup', 'none')),
  request_schema jsonb not null,
  result_schema jsonb not null,
  contract_digest text not null check (contract_digest ~ '^[0-9a-f]{64}$'),
  -- From connecting to the last byte of a host's answer.
  timeout_ms integer not null default 30000 check (timeout_ms between 100 and 600000)
);

create table waybill.version_capabilities (
  connector_id text not null,
  version text not null,
  capability_id text not null references waybill.capabilities,
  primary key (connector_id, version, capability_id),
  foreign key (connector_id, version) references waybill.connector_versions
);

-- Revisions of an instance's credentials: references and states, never values.
create table waybill.credential_revisions (
  tenant_id text not null,
  instance_id text not null,
  credential_revision text not null,
  status text not null check (status in ('active', 'revoked')),
  primary key (tenant_id, instance_id, credential_revision),
  foreign key (tenant_id, instance_id) references waybill.instances
);

-- Limits on simultaneous reservations, by scope; null: the scope is off and takes no counter. To stop
-- a binding altogether it is disabled, hence no limit of 0.
create table waybill.quota_policies (
  quota_policy_id text primary key,
  binding_limit integer check (binding_limit >= 1),
  instance_limit integer check (instance_limit >= 1),
  connector_limit integer check (connector_limit >= 1),
  tenant_retry_limit integer check (tenant_retry_limit >= 1),
  tenant_limit integer check (tenant_limit >= 1),
  global_limit integer check (global_limit >= 1)
);

create table waybill.bindings (
  tenant_id text not null,
  capability_id text not null references waybill.capabilities,
  instance_id text not null,
  -- Lower comes first.
  priority integer not null default 100,
  enabled boolean not null default true,
  -- capacity: what does not fit here may go to the next binding, which may be another account.
  spill text not null default 'never' check (spill in ('never', 'capacity')),
  -- Several accounts at one priority are meant to share the work.
  spread boolean not null default false,
  -- The tenant's actions of the capability need an approval, whatever its class.
  approval_required boolean not null default false,
  policy_revision bigint not null default 1 check (policy_revision >= 1),
  credential_revision text not null,
  quota_policy_id text references waybill.quota_policies,
  primary key (tenant_id, capability_id, instance_id),
  foreign key (tenant_id, instance_id) references waybill.instances,
  foreign key (tenant_id, instance_id, credential_revision) references waybill.credential_revisions
);
