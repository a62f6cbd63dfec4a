-- The part of the catalog that deliveries need: connectors with their immutable versions, tenants'
-- instances, targets, subscriptions and their ingresses. All of it is published as whole revisions.

create table waybill.catalog_revision (
  only_row boolean primary key default true check (only_row),
  revision bigint not null check (revision >= 0),
  published_at timestamptz not null default clock_timestamp()
);
insert into waybill.catalog_revision (revision) values (0);

create table waybill.connectors (
  connector_id text primary key,
  -- null: the platform's, visible to every tenant; else that tenant's alone.
  owner_tenant_id text,
  name text not null,
  provider text not null,
  enabled boolean not null default true
);

create table waybill.connector_versions (
  connector_id text not null references waybill.connectors,
  version text not null,
  status text not null check (status in ('draft', 'certified', 'active', 'deprecated', 'revoked')),
  -- null: the connector receives no webhooks.
  webhook_scheme jsonb,
  -- null: the deployment's default_retry.
  retry_profile jsonb,
  -- What can be sent through it, by operation: {name: {"kind", …}}; null: nothing.
  outbound jsonb check (outbound is null or jsonb_typeof(outbound) = 'object'),
  -- {"kind", "name", "version"} of what acts at the provider; null: nothing does.
  adapter_ref jsonb,
  -- JSON Schema of what an instance is configured with; null: anything will do.
  configuration_form jsonb check (jsonb_typeof(configuration_form) = 'object'),
  -- The release that it is distributed with.
  release_id text check (length(release_id) between 1 and 200),
  -- SHA-256 (hex) of the canonical JSON of everything above but the status; it never changes.
  content_digest text not null check (content_digest ~ '^[0-9a-f]{64}$'),
  -- Where the report of its certification is kept; no part of the content.
  certification_ref text,
  event_seq integer not null default 0,
  primary key (connector_id, version)
);

create table waybill.instances (
  tenant_id text not null,
  instance_id text not null,
  connector_id text not null,
  version text not null,
  status text not null check (status in ('enabled', 'disabled', 'revoked')),
  grants text[] not null check (grants <@ array['source', 'tool']),
  primary key (tenant_id, instance_id),
  foreign key (connector_id, version) references waybill.connector_versions
);

create table waybill.targets (
  tenant_id text not null,
  target_id text not null,
  kind text not null check (kind in ('http')),
  config jsonb not null,
  primary key (tenant_id, target_id)
);

create table waybill.subscriptions (
  tenant_id text not null,
  subscription_id text not null,
  instance_id text not null,
  target_id text not null,
  -- {'*'} takes every type.
  event_types text[] not null check (cardinality(event_types) >= 1),
  -- null: the connector version's retry profile.
  retry_profile jsonb,
  -- Of the deliveries that it accepts: whether a workflow has them from the start.
  lane text not null default 'durable' check (lane in ('durable', 'express')),
  -- paused keeps collecting, deactivated refuses.
  state text not null check (state in ('active', 'paused', 'deactivated')),
  pause_reason text,
  last_delivery_at timestamptz,
  event_seq integer not null default 0,
  primary key (tenant_id, subscription_id),
  foreign key (tenant_id, instance_id) references waybill.instances,
  foreign key (tenant_id, target_id) references waybill.targets,
  check (state = 'paused' or pause_reason is null)
);

-- ingress_ref is the only key that an unauthenticated caller knows: unique over all tenants.
create table waybill.ingresses (
  ingress_ref text primary key,
  tenant_id text not null,
  subscription_id text not null,
  -- [{"id", "ref", "notBefore", "notAfter"}]: references to secrets, never values.
  secrets jsonb not null,
  body_limit_bytes integer not null check (body_limit_bytes between 1 and 26214400),
  unique (tenant_id, subscription_id),
  foreign key (tenant_id, subscription_id) references waybill.subscriptions
);

-- References that an ingress had before: they still lead there until their time is over, then they are gone.
create table waybill.retired_ingresses (
  ingress_ref text primary key,
  tenant_id text not null,
  subscription_id text not null,
  valid_until timestamptz not null,
  foreign key (tenant_id, subscription_id) references waybill.subscriptions
);
create index retired_ingresses_by_subscription on waybill.retired_ingresses (tenant_id, subscription_id);
