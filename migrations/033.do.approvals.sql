-- Approvals: who may approve with a key of their own, and for how long an action waits for one.

alter table waybill.settings
  -- {name: {keys: [did:key], tenants: [tenant] | null}}; tenants null: every tenant.
  add column trusted_approvers jsonb not null default '{}'
    check (jsonb_typeof(trusted_approvers) = 'object'),
  add column approval_ttl_ms bigint not null default 86400000
    check (approval_ttl_ms between 1000 and 2592000000);
