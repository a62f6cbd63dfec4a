-- Who may do what: row-level security by tenant, and grants by role.

do $$
declare
  v_table text;
begin
  -- A tenant's rows, for the roles that work for one tenant at a time.
  foreach v_table in array array['artifacts', 'receipts', 'receipt_checkpoints', 'idempotency_keys', 'audit_log', 'instances', 'targets', 'subscriptions',
    'ingresses', 'retired_ingresses', 'deliveries', 'delivery_attempts', 'dedup_keys', 'rejected_payloads'] loop
    execute format('alter table waybill.%I enable row level security', v_table);
    execute format('create policy one_tenant on waybill.%I to waybill_data, waybill_observer
      using (tenant_id = waybill.current_tenant())', v_table);
    -- Loops and upkeep work across tenants.
    execute format('create policy across_tenants on waybill.%I to waybill_operations
      using (true)', v_table);
  end loop;
  -- A publication spans tenants.
  foreach v_table in array array['instances', 'targets', 'subscriptions', 'ingresses', 'retired_ingresses', 'audit_log',
    'outbox_events'] loop
    execute format('create policy publication on waybill.%I to waybill_control using (true)', v_table);
  end loop;
end
$$;

-- What is told of the platform's connectors concerns every tenant.
alter table waybill.outbox_events enable row level security;
create policy platform_or_own on waybill.outbox_events to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant()
    or (tenant_id = '_platform' and waybill.current_tenant() is not null))
  with check (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.outbox_events to waybill_operations using (true);

alter table waybill.connectors enable row level security;
create policy platform_or_own on waybill.connectors to waybill_data, waybill_observer
  using (owner_tenant_id is null or owner_tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.connectors to waybill_operations, waybill_control using (true);
-- A version is visible to whom its connector is.
alter table waybill.connector_versions enable row level security;
create policy with_its_connector on waybill.connector_versions to waybill_data, waybill_observer
  using (exists (select from waybill.connectors c
    where c.connector_id = connector_versions.connector_id));
create policy across_tenants on waybill.connector_versions to waybill_operations, waybill_control
  using (true);

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;

grant select on waybill.settings, waybill.catalog_revision, waybill.connectors,
  waybill.connector_versions, waybill.instances, waybill.targets, waybill.subscriptions
  to waybill_control, waybill_data, waybill_operations, waybill_observer;

-- A version never changes, nor whose a connector is: a publication adds, and moves what may move.
grant insert on waybill.connectors, waybill.connector_versions to waybill_control;
grant update (enabled) on waybill.connectors to waybill_control;
grant update (status, event_seq) on waybill.connector_versions to waybill_control;
grant insert, update on waybill.settings, waybill.catalog_revision, waybill.instances, waybill.targets,
  waybill.subscriptions, waybill.ingresses to waybill_control;
grant select on waybill.ingresses to waybill_control;
grant select, insert, delete on waybill.retired_ingresses to waybill_control;
grant insert on waybill.audit_log, waybill.outbox_events to waybill_control;

grant select, insert on waybill.artifacts, waybill.receipts, waybill.outbox_events,
  waybill.audit_log, waybill.rejected_payloads to waybill_data;
grant select, insert, update on waybill.deliveries, waybill.delivery_attempts, waybill.dedup_keys,
  waybill.idempotency_keys to waybill_data;
-- What dispatching itself may change of a subscription.
grant update (state, pause_reason, event_seq, last_delivery_at) on waybill.subscriptions to waybill_data;
grant execute on function
  waybill.find_ingress(text),
  waybill.keep_artifact(text, bytea, bytea),
  waybill.ingest_deliveries(text, jsonb, bytea, boolean),
  waybill.judge_arrivals(text, waybill.arrival[]),
  waybill.store_rejected(text, uuid, text, bytea, jsonb),
  waybill.accepted_around(text, text, text, timestamptz, interval),
  waybill.read_rejected(text, uuid),
  waybill.readmit_delivery(text, uuid, uuid, jsonb),
  waybill.ms_until(timestamptz),
  waybill.delivery_facts(waybill.deliveries),
  waybill.delivery_facts_json(waybill.deliveries),
  waybill.append_receipts(text, text[], jsonb[]),
  waybill.emit_delivery_events(text, uuid[], integer[], text, jsonb[]),
  waybill.delivery_source(waybill.deliveries),
  waybill.verify_delivery(waybill.deliveries),
  waybill.attempt_deadline(jsonb),
  waybill.require_all(integer, integer),
  waybill.mark_dispatched(tid[], timestamptz, timestamptz),
  waybill.mark_closed(tid[], jsonb[]),
  waybill.mark_settled(tid[], text, text, text, text[]),
  waybill.open_ready(text, tid[], text, jsonb, timestamptz),
  waybill.dispatch_chain(text, text),
  waybill.chain_moved(waybill.deliveries, jsonb),
  waybill.pause_subscription(waybill.deliveries, text, text),
  waybill.record_outcomes(text, uuid[], jsonb[]),
  waybill.settle_deliveries(text, text, text, text, uuid[], jsonb[]),
  waybill.open_attempt(text, uuid, text, text),
  waybill.close_attempt(text, uuid, integer, jsonb, jsonb),
  waybill.fail_delivery(text, uuid, text, text, jsonb),
  waybill.read_delivery_facts(text, uuid),
  waybill.replay_delivery(text, uuid, text, text, jsonb, jsonb),
  waybill.guard_delivery_state(),
  waybill.delivery_may_follow(text, text)
  to waybill_data;

grant select on waybill.deliveries to waybill_operations;
grant update (attend_at) on waybill.deliveries to waybill_operations;
grant select, delete, update on waybill.dedup_keys, waybill.rejected_payloads, waybill.idempotency_keys
  to waybill_operations;
grant execute on function waybill.claim_unattended(integer, integer),
  waybill.forget_expired(integer), waybill.guard_delivery_state(),
  waybill.delivery_may_follow(text, text) to waybill_operations;

grant select on waybill.artifacts, waybill.receipts, waybill.receipt_checkpoints,
  waybill.outbox_events, waybill.audit_log, waybill.deliveries,
  waybill.delivery_attempts to waybill_observer;
grant select on waybill.schema_version
  to waybill_control, waybill_data, waybill_lifecycle, waybill_operations, waybill_observer;
