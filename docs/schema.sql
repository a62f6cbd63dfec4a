-- The schema that migrations/ builds, for reading; generated, do not edit.
-- Once a migration has changed it: UPDATE_SNAPSHOT=1 npx jest test/db/schema-snapshot

schema waybill
  grant usage to waybill_control
  grant usage to waybill_data
  grant usage to waybill_lifecycle
  grant usage to waybill_observer
  grant usage to waybill_operations

table action_tombstones
  tenant_id text not null
  action_id text not null
  capability_id text not null
  request_sha256 bytea not null
  outcome text not null
  result_sha256 bytea
  error_code text
  delivery_id uuid
  requested_by text not null
  retry_budget integer not null
  created_at timestamp with time zone not null
  deadline_at timestamp with time zone not null
  closed_at timestamp with time zone not null
  buried_at timestamp with time zone not null default clock_timestamp()
  constraint action_tombstones_pkey PRIMARY KEY (tenant_id, action_id)
  constraint action_tombstones_outcome_check CHECK ((outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))
  constraint action_tombstones_request_sha256_check CHECK ((length(request_sha256) = 32))
  constraint action_tombstones_result_sha256_check CHECK ((length(result_sha256) = 32))
  CREATE INDEX action_tombstones_by_age ON waybill.action_tombstones USING btree (buried_at)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant select to waybill_data
  grant select to waybill_observer
  grant delete, insert, select, update to waybill_operations

table actions
  tenant_id text not null
  action_id text not null
  capability_id text not null
  request_sha256 bytea not null
  state text not null
  version integer not null default 1
  affinity_key text
  requested_by text not null
  retry_budget integer not null
  deadline_at timestamp with time zone not null
  result_outcome text
  result_sha256 bytea
  error_code text
  reason text
  detail text
  waiting_since timestamp with time zone
  attend_at timestamp with time zone
  event_seq integer not null default 0
  receipt_seq integer not null default 0
  receipt_digest text
  created_at timestamp with time zone not null default clock_timestamp()
  closed_at timestamp with time zone
  uncertain boolean not null default false
  repeatable boolean not null default false
  store_epoch text
  last_sent_at timestamp with time zone
  begin_anew boolean not null default false
  budget_from integer not null default 0
  cancel_requested_at timestamp with time zone
  cancel_requested_by text
  delivery_id uuid
  uncertain_since timestamp with time zone
  approval_id text
  policy_decision jsonb
  progress_note text
  progress_percent smallint
  progress_at timestamp with time zone
  constraint actions_pkey PRIMARY KEY (tenant_id, action_id)
  constraint actions_action_id_check CHECK (((length(action_id) >= 1) AND (length(action_id) <= 200)))
  constraint actions_attended CHECK (((attend_at IS NULL) = (closed_at IS NOT NULL)))
  constraint actions_closed CHECK (((closed_at IS NOT NULL) = (state = ANY (ARRAY['completed'::text, 'failed'::text, 'cancelled'::text]))))
  constraint actions_progress_note_check CHECK ((length(progress_note) <= 500))
  constraint actions_progress_percent_check CHECK (((progress_percent >= 0) AND (progress_percent <= 100)))
  constraint actions_request_sha256_check CHECK ((length(request_sha256) = 32))
  constraint actions_result CHECK (
CASE state
    WHEN 'completed'::text THEN (NOT (result_outcome IS DISTINCT FROM 'succeeded'::text))
    WHEN 'failed'::text THEN (NOT (result_outcome IS DISTINCT FROM 'failed'::text))
    WHEN 'cancelled'::text THEN (NOT (result_outcome IS DISTINCT FROM 'cancelled'::text))
    ELSE true
END)
  constraint actions_result_outcome_check CHECK ((result_outcome = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text])))
  constraint actions_result_sha256_check CHECK ((length(result_sha256) = 32))
  constraint actions_retry_budget_check CHECK ((retry_budget >= 0))
  constraint actions_state_check CHECK ((state = ANY (ARRAY['requested'::text, 'awaiting_approval'::text, 'reserved'::text, 'dispatching'::text, 'cancelling'::text, 'unknown'::text, 'reconciling'::text, 'needs_operator'::text, 'completed'::text, 'failed'::text, 'cancelled'::text])))
  with (fillfactor=70)
  CREATE INDEX actions_by_capability ON waybill.actions USING btree (tenant_id, capability_id, created_at DESC, action_id DESC)
  CREATE INDEX actions_by_request ON waybill.actions USING btree (tenant_id, request_sha256)
  CREATE INDEX actions_by_result ON waybill.actions USING btree (tenant_id, result_sha256) WHERE (result_sha256 IS NOT NULL)
  CREATE INDEX actions_by_state ON waybill.actions USING btree (tenant_id, state, created_at DESC, action_id DESC)
  CREATE INDEX actions_by_time ON waybill.actions USING btree (tenant_id, created_at DESC, action_id DESC)
  CREATE INDEX actions_closed_by_age ON waybill.actions USING btree (closed_at) WHERE (closed_at IS NOT NULL)
  CREATE INDEX actions_for_people ON waybill.actions USING btree (tenant_id, created_at DESC, action_id DESC) WHERE ((waiting_since IS NOT NULL) OR (state = 'needs_operator'::text))
  CREATE INDEX actions_to_attend ON waybill.actions USING btree (attend_at) WHERE (attend_at IS NOT NULL)
  CREATE INDEX actions_uncertain ON waybill.actions USING btree (tenant_id, uncertain_since, action_id) WHERE (uncertain_since IS NOT NULL)
  CREATE INDEX actions_waiting ON waybill.actions USING btree (tenant_id, waiting_since) WHERE (waiting_since IS NOT NULL)
  CREATE TRIGGER actions_approval AFTER UPDATE OF state ON waybill.actions FOR EACH ROW WHEN (((old.state = 'awaiting_approval'::text) AND (new.state <> 'awaiting_approval'::text))) EXECUTE FUNCTION waybill.withdraw_approval()
  CREATE TRIGGER actions_birth BEFORE INSERT ON waybill.actions FOR EACH ROW WHEN ((new.state <> 'requested'::text)) EXECUTE FUNCTION waybill.guard_action_state()
  CREATE TRIGGER actions_doubt BEFORE UPDATE ON waybill.actions FOR EACH ROW WHEN (((new.uncertain AND (new.closed_at IS NULL)) IS DISTINCT FROM (old.uncertain_since IS NOT NULL))) EXECUTE FUNCTION waybill.note_doubt()
  CREATE TRIGGER actions_transition BEFORE UPDATE OF state ON waybill.actions FOR EACH ROW WHEN ((old.state IS DISTINCT FROM new.state)) EXECUTE FUNCTION waybill.guard_action_state()
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, insert, select, update to waybill_operations

table affinities
  tenant_id text not null
  affinity_key text not null
  instance_id text not null
  created_at timestamp with time zone not null default clock_timestamp()
  constraint affinities_pkey PRIMARY KEY (tenant_id, affinity_key)
  constraint affinities_affinity_key_check CHECK (((length(affinity_key) >= 1) AND (length(affinity_key) <= 200)))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select to waybill_data
  grant select to waybill_observer

table approvals
  tenant_id text not null
  action_id text not null
  request_sha256 bytea not null
  state text not null
  asked_at timestamp with time zone not null default clock_timestamp()
  expires_at timestamp with time zone not null
  decided_at timestamp with time zone
  decided_by text
  decided_via text
  reason text
  token text
  constraint approvals_pkey PRIMARY KEY (tenant_id, action_id)
  constraint approvals_by CHECK (((state = ANY (ARRAY['approved'::text, 'denied'::text])) = (decided_by IS NOT NULL)))
  constraint approvals_decided CHECK (((state = 'asked'::text) = (decided_at IS NULL)))
  constraint approvals_decided_via_check CHECK ((decided_via = ANY (ARRAY['api'::text, 'token'::text, 'temporal_ui'::text, 'delivery'::text])))
  constraint approvals_request_sha256_check CHECK ((length(request_sha256) = 32))
  constraint approvals_state_check CHECK ((state = ANY (ARRAY['asked'::text, 'approved'::text, 'denied'::text, 'expired'::text, 'withdrawn'::text])))
  constraint approvals_tenant_id_action_id_fkey FOREIGN KEY (tenant_id, action_id) REFERENCES waybill.actions(tenant_id, action_id) ON DELETE CASCADE
  constraint approvals_token_check CHECK ((length(token) <= 4096))
  CREATE INDEX approvals_waiting ON waybill.approvals USING btree (tenant_id, asked_at, action_id) WHERE (state = 'asked'::text)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant select, update to waybill_operations

table artifacts
  tenant_id text not null
  sha256 bytea not null
  content bytea not null
  created_at timestamp with time zone not null default clock_timestamp()
  of_delivery boolean not null default true
  release_at timestamp with time zone
  constraint artifacts_pkey PRIMARY KEY (tenant_id, sha256)
  constraint artifacts_sha256_check CHECK ((length(sha256) = 32))
  CREATE INDEX artifacts_to_release ON waybill.artifacts USING btree (release_at) WHERE (release_at IS NOT NULL)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select to waybill_data
  grant select to waybill_observer
  grant delete, select, update to waybill_operations
  grant update (of_delivery, release_at) to waybill_data

table audit_log
  audit_id bigint not null generated always as identity
  tenant_id text
  at timestamp with time zone not null default clock_timestamp()
  actor text not null
  action text not null
  subject text not null
  detail jsonb not null default '{}'::jsonb
  constraint audit_log_pkey PRIMARY KEY (audit_id)
  CREATE INDEX audit_log_by_subject ON waybill.audit_log USING btree (tenant_id, subject, audit_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert to waybill_control
  grant insert, select to waybill_data
  grant select to waybill_observer
  grant insert to waybill_operations

table bindings
  tenant_id text not null
  capability_id text not null
  instance_id text not null
  priority integer not null default 100
  enabled boolean not null default true
  spill text not null default 'never'::text
  spread boolean not null default false
  approval_required boolean not null default false
  policy_revision bigint not null default 1
  credential_revision text not null
  quota_policy_id text
  constraint bindings_pkey PRIMARY KEY (tenant_id, capability_id, instance_id)
  constraint bindings_capability_id_fkey FOREIGN KEY (capability_id) REFERENCES waybill.capabilities(capability_id)
  constraint bindings_policy_revision_check CHECK ((policy_revision >= 1))
  constraint bindings_quota_policy_id_fkey FOREIGN KEY (quota_policy_id) REFERENCES waybill.quota_policies(quota_policy_id)
  constraint bindings_spill_check CHECK ((spill = ANY (ARRAY['never'::text, 'capacity'::text])))
  constraint bindings_tenant_id_instance_id_credential_revision_fkey FOREIGN KEY (tenant_id, instance_id, credential_revision) REFERENCES waybill.credential_revisions(tenant_id, instance_id, credential_revision)
  constraint bindings_tenant_id_instance_id_fkey FOREIGN KEY (tenant_id, instance_id) REFERENCES waybill.instances(tenant_id, instance_id)
  CREATE INDEX bindings_by_capability ON waybill.bindings USING btree (tenant_id, capability_id COLLATE "C")
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table capabilities
  capability_id text not null
  interface_name text not null
  side_effect text not null
  recovery text not null
  request_schema jsonb not null
  result_schema jsonb not null
  contract_digest text not null
  timeout_ms integer not null default 30000
  constraint capabilities_pkey PRIMARY KEY (capability_id)
  constraint capabilities_capability_id_check CHECK (((length(capability_id) >= 1) AND (length(capability_id) <= 200)))
  constraint capabilities_contract_digest_check CHECK ((contract_digest ~ '^[0-9a-f]{64}$'::text))
  constraint capabilities_recovery_check CHECK ((recovery = ANY (ARRAY['provider_key'::text, 'lookup'::text, 'none'::text])))
  constraint capabilities_side_effect_check CHECK ((side_effect = ANY (ARRAY['read'::text, 'sandbox'::text, 'shared-write'::text, 'external'::text])))
  constraint capabilities_timeout_ms_check CHECK (((timeout_ms >= 100) AND (timeout_ms <= 600000)))
  CREATE INDEX capabilities_by_id ON waybill.capabilities USING btree (capability_id COLLATE "C")
  CREATE INDEX capabilities_by_interface ON waybill.capabilities USING btree (interface_name, capability_id COLLATE "C")
  grant insert, select to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table catalog_revision
  only_row boolean not null default true
  revision bigint not null
  published_at timestamp with time zone not null default clock_timestamp()
  constraint catalog_revision_pkey PRIMARY KEY (only_row)
  constraint catalog_revision_only_row_check CHECK (only_row)
  constraint catalog_revision_revision_check CHECK ((revision >= 0))
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table certifications
  connector_id text not null
  version text not null
  suite_version text not null
  state text not null
  run integer not null default 1
  tenant_id text not null
  instance_id text not null
  cases jsonb not null
  requested_by text not null
  requested_at timestamp with time zone not null default clock_timestamp()
  finished_at timestamp with time zone
  reason text
  results jsonb not null default '{}'::jsonb
  report_sha256 bytea
  evidence_id text
  constraint certifications_pkey PRIMARY KEY (connector_id, version, suite_version)
  constraint certifications_check CHECK (((state = 'running'::text) = (finished_at IS NULL)))
  constraint certifications_check1 CHECK (((state = 'passed'::text) = (evidence_id IS NOT NULL)))
  constraint certifications_connector_id_version_fkey FOREIGN KEY (connector_id, version) REFERENCES waybill.connector_versions(connector_id, version)
  constraint certifications_evidence_id_fkey FOREIGN KEY (evidence_id) REFERENCES waybill.evidence_statements(evidence_id)
  constraint certifications_report_sha256_check CHECK ((length(report_sha256) = 32))
  constraint certifications_run_check CHECK ((run >= 1))
  constraint certifications_state_check CHECK ((state = ANY (ARRAY['running'::text, 'passed'::text, 'failed'::text])))
  constraint certifications_tenant_id_instance_id_fkey FOREIGN KEY (tenant_id, instance_id) REFERENCES waybill.instances(tenant_id, instance_id)
  CREATE INDEX certifications_under_way ON waybill.certifications USING btree (tenant_id, instance_id) WHERE (state = 'running'::text)
  row level security
  policy across_tenants for all to waybill_control, waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant select to waybill_data
  grant select to waybill_observer
  grant select, update to waybill_operations
  grant select (state, tenant_id, instance_id) to waybill_control

table checkpoint_leaves
  tenant_id text not null
  checkpoint_no integer not null
  leaf_no integer not null
  subject text not null
  seq integer not null
  digest text not null
  constraint checkpoint_leaves_pkey PRIMARY KEY (tenant_id, checkpoint_no, leaf_no)
  constraint checkpoint_leaves_leaf_no_check CHECK ((leaf_no >= 0))
  constraint checkpoint_leaves_tenant_id_checkpoint_no_fkey FOREIGN KEY (tenant_id, checkpoint_no) REFERENCES waybill.receipt_checkpoints(tenant_id, checkpoint_no) ON DELETE CASCADE
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant select to waybill_data
  grant select to waybill_observer
  grant delete, insert, select to waybill_operations

table connection_reports
  tenant_id text not null
  instance_id text not null
  version bigint not null
  state text not null
  event_source text not null
  event_id text not null
  reported_at timestamp with time zone not null default clock_timestamp()
  constraint connection_reports_pkey PRIMARY KEY (tenant_id, instance_id)
  constraint connection_reports_state_check CHECK ((state = ANY (ARRAY['enabled'::text, 'disabled'::text, 'revoked'::text])))
  constraint connection_reports_tenant_id_instance_id_fkey FOREIGN KEY (tenant_id, instance_id) REFERENCES waybill.instances(tenant_id, instance_id)
  constraint connection_reports_version_check CHECK ((version >= 1))
  row level security
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer

table connector_versions
  connector_id text not null
  version text not null
  status text not null
  webhook_scheme jsonb
  retry_profile jsonb
  outbound jsonb
  adapter_ref jsonb
  configuration_form jsonb
  release_id text
  content_digest text not null
  certification_ref text
  event_seq integer not null default 0
  manifest_digest text
  rate_limit jsonb
  profiles text[] not null default '{}'::text[]
  artifact_digest text
  evidence_until timestamp with time zone not null default 'infinity'::timestamp with time zone
  wake_pending boolean not null default false
  constraint connector_versions_pkey PRIMARY KEY (connector_id, version)
  constraint connector_versions_artifact_digest_check CHECK ((artifact_digest ~ '^[0-9a-f]{64}$'::text))
  constraint connector_versions_configuration_form_check CHECK ((jsonb_typeof(configuration_form) = 'object'::text))
  constraint connector_versions_connector_id_fkey FOREIGN KEY (connector_id) REFERENCES waybill.connectors(connector_id)
  constraint connector_versions_content_digest_check CHECK ((content_digest ~ '^[0-9a-f]{64}$'::text))
  constraint connector_versions_manifest_digest_check CHECK ((manifest_digest ~ '^[0-9a-f]{64}$'::text))
  constraint connector_versions_outbound_check CHECK (((outbound IS NULL) OR (jsonb_typeof(outbound) = 'object'::text)))
  constraint connector_versions_profiles_check CHECK (((cardinality(profiles) <= 100) AND (array_position(profiles, NULL::text) IS NULL)))
  constraint connector_versions_rate_limit_check CHECK (((rate_limit IS NULL) OR COALESCE(((((rate_limit ->> 'permits'::text))::integer >= 1) AND (((rate_limit ->> 'perMs'::text))::integer >= 1) AND (((rate_limit ->> 'burst'::text))::integer >= 1)), false)))
  constraint connector_versions_release_id_check CHECK (((length(release_id) >= 1) AND (length(release_id) <= 200)))
  constraint connector_versions_status_check CHECK ((status = ANY (ARRAY['draft'::text, 'certified'::text, 'active'::text, 'deprecated'::text, 'revoked'::text])))
  CREATE INDEX versions_to_wake ON waybill.connector_versions USING btree (connector_id, version) WHERE wake_pending
  CREATE TRIGGER versions_revoked BEFORE UPDATE OF status ON waybill.connector_versions FOR EACH ROW WHEN (((new.status = 'revoked'::text) AND (old.status <> 'revoked'::text))) EXECUTE FUNCTION waybill.mark_to_wake()
  row level security
  policy across_tenants for all to waybill_control, waybill_operations using true
  policy lifecycle for all to waybill_lifecycle using true
  policy with_its_connector for all to waybill_data, waybill_observer using (EXISTS ( SELECT FROM waybill.connectors c WHERE (c.connector_id = connector_versions.connector_id)))
  grant insert, select to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations
  grant select (connector_id, version, manifest_digest) to waybill_lifecycle
  grant update (status, event_seq, evidence_until) to waybill_control
  grant update (wake_pending) to waybill_operations

table connectors
  connector_id text not null
  owner_tenant_id text
  name text not null
  provider text not null
  enabled boolean not null default true
  constraint connectors_pkey PRIMARY KEY (connector_id)
  row level security
  policy across_tenants for all to waybill_control, waybill_operations using true
  policy platform_or_own for all to waybill_data, waybill_observer using ((owner_tenant_id IS NULL) OR (owner_tenant_id = waybill.current_tenant()))
  grant insert, select to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations
  grant update (enabled) to waybill_control

table credential_revisions
  tenant_id text not null
  instance_id text not null
  credential_revision text not null
  status text not null
  constraint credential_revisions_pkey PRIMARY KEY (tenant_id, instance_id, credential_revision)
  constraint credential_revisions_status_check CHECK ((status = ANY (ARRAY['active'::text, 'revoked'::text])))
  constraint credential_revisions_tenant_id_instance_id_fkey FOREIGN KEY (tenant_id, instance_id) REFERENCES waybill.instances(tenant_id, instance_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table dedup_keys
  tenant_id text not null
  subscription_id text not null
  dedup_key text not null
  delivery_id uuid not null
  payload_sha256 bytea not null
  expires_at timestamp with time zone not null
  constraint dedup_keys_pkey PRIMARY KEY (tenant_id, subscription_id, dedup_key)
  constraint dedup_keys_dedup_key_check CHECK (((length(dedup_key) >= 1) AND (length(dedup_key) <= 512)))
  CREATE INDEX dedup_keys_expired ON waybill.dedup_keys USING btree (expires_at)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant delete, select, update to waybill_operations

table deliveries
  tenant_id text not null
  delivery_id uuid not null
  direction text not null
  connector_id text not null
  instance_id text not null
  subscription_id text
  external_id text
  event_type text not null
  dedup_key text
  state text not null
  version integer not null default 1
  payload_sha256 bytea not null
  payload_bytes integer not null
  content_type text
  kept_headers jsonb not null default '[]'::jsonb
  evidence jsonb not null default '{}'::jsonb
  duplicate_of uuid
  readmitted_from uuid
  conflict boolean not null default false
  reason text
  detail text
  attempts integer not null default 0
  series integer not null default 1
  series_attempts integer not null default 0
  series_started_at timestamp with time zone
  next_attempt_at timestamp with time zone
  waiting_since timestamp with time zone
  attend_at timestamp with time zone
  lane text not null default 'durable'::text
  driver text not null default 'workflow'::text
  show_at timestamp with time zone
  sending jsonb
  deadline_at timestamp with time zone
  uncertain boolean not null default false
  restored boolean not null default false
  receipt_seq integer not null default 0
  receipt_digest text
  event_seq integer not null default 0
  received_at timestamp with time zone not null default clock_timestamp()
  verified_at timestamp with time zone
  settled_at timestamp with time zone
  gate text
  gated_at timestamp with time zone
  constraint deliveries_pkey PRIMARY KEY (tenant_id, delivery_id)
  constraint deliveries_attempts_check CHECK ((attempts >= 0))
  constraint deliveries_attended CHECK (((attend_at IS NOT NULL) = (state = ANY (ARRAY['Received'::text, 'Verified'::text, 'Dispatched'::text, 'Replayed'::text]))))
  constraint deliveries_direction_check CHECK ((direction = ANY (ARRAY['inbound'::text, 'outbound'::text])))
  constraint deliveries_driven CHECK (((driver = 'workflow'::text) OR ((lane = 'express'::text) AND (state <> 'Failed'::text))))
  constraint deliveries_driver_check CHECK ((driver = ANY (ARRAY['workflow'::text, 'loop'::text])))
  constraint deliveries_duplicate CHECK (((duplicate_of IS NOT NULL) = (state = 'Deduplicated'::text)))
  constraint deliveries_gated CHECK ((((gate IS NULL) OR (gated_at IS NOT NULL)) AND ((gate IS NULL) OR (attend_at IS NOT NULL))))
  constraint deliveries_keyed CHECK (((dedup_key IS NOT NULL) OR (state = 'Rejected'::text)))
  constraint deliveries_lane_check CHECK ((lane = ANY (ARRAY['durable'::text, 'express'::text])))
  constraint deliveries_payload_bytes_check CHECK ((payload_bytes >= 0))
  constraint deliveries_payload_sha256_check CHECK ((length(payload_sha256) = 32))
  constraint deliveries_sent CHECK ((((sending IS NOT NULL) = (direction = 'outbound'::text)) AND ((direction = 'outbound'::text) OR ((deadline_at IS NULL) AND (NOT uncertain) AND (NOT restored)))))
  constraint deliveries_series_attempts_check CHECK ((series_attempts >= 0))
  constraint deliveries_series_check CHECK ((series >= 1))
  constraint deliveries_settled CHECK (((settled_at IS NOT NULL) = (state = ANY (ARRAY['Rejected'::text, 'Deduplicated'::text, 'Acknowledged'::text, 'Failed'::text]))))
  constraint deliveries_shown CHECK (((show_at IS NULL) OR (state = 'Failed'::text)))
  constraint deliveries_state_check CHECK ((state = ANY (ARRAY['Received'::text, 'Verified'::text, 'Rejected'::text, 'Deduplicated'::text, 'Dispatched'::text, 'Acknowledged'::text, 'Failed'::text, 'Replayed'::text])))
  with (fillfactor=80)
  CREATE INDEX deliveries_at_gates ON waybill.deliveries USING btree (tenant_id, gate, received_at, delivery_id) WHERE (gate IS NOT NULL)
  CREATE INDEX deliveries_being_sent ON waybill.deliveries USING btree (tenant_id, instance_id) WHERE ((direction = 'outbound'::text) AND (attend_at IS NOT NULL))
  CREATE INDEX deliveries_by_connector ON waybill.deliveries USING btree (tenant_id, connector_id, received_at DESC, delivery_id DESC)
  CREATE INDEX deliveries_by_external_id ON waybill.deliveries USING btree (tenant_id, external_id)
  CREATE UNIQUE INDEX deliveries_by_idempotency_key ON waybill.deliveries USING btree (tenant_id, instance_id, dedup_key) WHERE (direction = 'outbound'::text)
  CREATE INDEX deliveries_by_payload ON waybill.deliveries USING btree (tenant_id, payload_sha256)
  CREATE INDEX deliveries_by_reason ON waybill.deliveries USING btree (tenant_id, reason, received_at DESC, delivery_id DESC) WHERE (reason IS NOT NULL)
  CREATE INDEX deliveries_by_subscription ON waybill.deliveries USING btree (tenant_id, subscription_id, received_at DESC, delivery_id DESC)
  CREATE INDEX deliveries_by_time ON waybill.deliveries USING btree (tenant_id, received_at DESC, delivery_id DESC)
  CREATE INDEX deliveries_for_people ON waybill.deliveries USING btree (tenant_id, state, received_at DESC, delivery_id DESC) WHERE (state = ANY (ARRAY['Failed'::text, 'Rejected'::text]))
  CREATE INDEX deliveries_for_the_loop ON waybill.deliveries USING btree (tenant_id, subscription_id, received_at, delivery_id) WHERE ((driver = 'loop'::text) AND (state = 'Received'::text))
  CREATE UNIQUE INDEX deliveries_readmitted ON waybill.deliveries USING btree (tenant_id, readmitted_from) WHERE (readmitted_from IS NOT NULL)
  CREATE INDEX deliveries_settled ON waybill.deliveries USING btree (tenant_id, state, settled_at) WHERE (settled_at IS NOT NULL)
  CREATE INDEX deliveries_to_attend ON waybill.deliveries USING btree (attend_at) WHERE ((attend_at IS NOT NULL) AND (NOT ((driver = 'loop'::text) AND (state = 'Received'::text))))
  CREATE INDEX deliveries_to_show ON waybill.deliveries USING btree (show_at) WHERE (show_at IS NOT NULL)
  CREATE INDEX deliveries_under_way ON waybill.deliveries USING btree (tenant_id, received_at DESC, delivery_id DESC) WHERE (state = ANY (ARRAY['Received'::text, 'Verified'::text, 'Dispatched'::text, 'Replayed'::text]))
  CREATE TRIGGER deliveries_birth BEFORE INSERT ON waybill.deliveries FOR EACH ROW WHEN ((new.state <> ALL (ARRAY['Received'::text, 'Rejected'::text, 'Deduplicated'::text]))) EXECUTE FUNCTION waybill.guard_delivery_state()
  CREATE TRIGGER deliveries_transition BEFORE UPDATE OF state ON waybill.deliveries FOR EACH ROW WHEN ((old.state IS DISTINCT FROM new.state)) EXECUTE FUNCTION waybill.guard_delivery_state()
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations
  grant update (reason, detail, series_started_at, waiting_since, attend_at, show_at, uncertain, restored, gate, gated_at) to waybill_operations

table delivery_attempts
  tenant_id text not null
  delivery_id uuid not null
  attempt_no integer not null
  series integer not null
  owner text not null
  target_id text not null
  sent_as bytea
  only_reads boolean not null default false
  opened_at timestamp with time zone not null default clock_timestamp()
  deadline_at timestamp with time zone not null
  closed_at timestamp with time zone
  outcome text
  reason text
  detail text
  status integer
  duration_ms integer
  answer_sha256 text
  answer_head text
  late_evidence jsonb
  constraint delivery_attempts_pkey PRIMARY KEY (tenant_id, delivery_id, attempt_no)
  constraint delivery_attempts_attempt_no_check CHECK ((attempt_no >= 1))
  constraint delivery_attempts_closed CHECK (((closed_at IS NULL) = (outcome IS NULL)))
  constraint delivery_attempts_outcome_check CHECK ((outcome = ANY (ARRAY['acknowledged'::text, 'refused'::text, 'not_sent'::text, 'unknown'::text])))
  constraint delivery_attempts_tenant_id_delivery_id_fkey FOREIGN KEY (tenant_id, delivery_id) REFERENCES waybill.deliveries(tenant_id, delivery_id)
  CREATE INDEX delivery_attempts_in_flight ON waybill.delivery_attempts USING btree (tenant_id, target_id) WHERE (closed_at IS NULL)
  CREATE UNIQUE INDEX delivery_attempts_one_open ON waybill.delivery_attempts USING btree (tenant_id, delivery_id) WHERE (closed_at IS NULL)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations

table event_feed
  only_row boolean not null default true
  last_feed_no bigint not null default 0
  constraint event_feed_pkey PRIMARY KEY (only_row)
  constraint event_feed_only_row_check CHECK (only_row)
  grant select to waybill_control
  grant select, update to waybill_operations

table event_horizons
  tenant_id text not null
  forgotten_through bigint not null
  constraint event_horizons_pkey PRIMARY KEY (tenant_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy platform_or_own for all to waybill_data, waybill_observer using ((tenant_id = ANY (ARRAY[waybill.current_tenant(), '_platform'::text])) AND (waybill.current_tenant() IS NOT NULL))
  grant select to waybill_data
  grant select to waybill_observer
  grant insert, select, update to waybill_operations

table event_sink_parked
  tenant_id text not null
  sink_id text not null
  event_tenant_id text not null
  aggregate text not null
  from_feed_no bigint not null
  failures integer not null default 1
  next_attempt_at timestamp with time zone not null
  reason text not null
  detail text
  parked_at timestamp with time zone not null default clock_timestamp()
  constraint event_sink_parked_pkey PRIMARY KEY (tenant_id, sink_id, event_tenant_id, aggregate)
  constraint event_sink_parked_tenant_id_sink_id_fkey FOREIGN KEY (tenant_id, sink_id) REFERENCES waybill.event_sinks(tenant_id, sink_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant select to waybill_data
  grant select to waybill_observer
  grant delete, insert, select, update to waybill_operations

table event_sinks
  tenant_id text not null
  sink_id text not null
  url text not null
  timeout_ms integer not null
  topics text[] not null
  secret_refs text[] not null
  state text not null
  pause_reason text
  passed bigint not null
  lease_no bigint not null default 0
  lease_ends_at timestamp with time zone
  served_at timestamp with time zone
  failures integer not null default 0
  failing_since timestamp with time zone
  next_attempt_at timestamp with time zone
  reason text
  detail text
  taken_at timestamp with time zone
  missed bigint not null default 0
  missed_at timestamp with time zone
  constraint event_sinks_pkey PRIMARY KEY (tenant_id, sink_id)
  constraint event_sinks_check CHECK (((state = 'paused'::text) OR (pause_reason IS NULL)))
  constraint event_sinks_failures_check CHECK ((failures >= 0))
  constraint event_sinks_secret_refs_check CHECK (((cardinality(secret_refs) >= 1) AND (cardinality(secret_refs) <= 2)))
  constraint event_sinks_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text])))
  constraint event_sinks_timeout_ms_check CHECK (((timeout_ms >= 100) AND (timeout_ms <= 60000)))
  constraint event_sinks_topics_check CHECK ((cardinality(topics) >= 1))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations
  grant update (state, pause_reason, passed, lease_no, lease_ends_at, served_at, failures, failing_since, next_attempt_at, reason, detail, taken_at, missed, missed_at) to waybill_operations

table evidence_statements
  evidence_id text not null
  connector_id text not null
  version text not null
  kind text not null
  artifact_digest text not null
  manifest_digest text
  content_digest text not null
  content_ref text
  verdict text not null
  signer text not null
  issued_at timestamp with time zone not null
  expires_at timestamp with time zone
  statement text not null
  constraint evidence_statements_pkey PRIMARY KEY (evidence_id)
  constraint evidence_statements_artifact_digest_check CHECK ((artifact_digest ~ '^[0-9a-f]{64}$'::text))
  constraint evidence_statements_check CHECK ((expires_at > issued_at))
  constraint evidence_statements_check1 CHECK (((kind <> 'revocation'::text) OR (verdict = 'fail'::text)))
  constraint evidence_statements_connector_id_version_fkey FOREIGN KEY (connector_id, version) REFERENCES waybill.connector_versions(connector_id, version)
  constraint evidence_statements_content_digest_check CHECK ((content_digest ~ '^[0-9a-f]{64}$'::text))
  constraint evidence_statements_content_ref_check CHECK (((length(content_ref) >= 1) AND (length(content_ref) <= 1000)))
  constraint evidence_statements_kind_check CHECK ((kind = ANY (ARRAY['signature'::text, 'sbom'::text, 'provenance'::text, 'conformance'::text, 'vulnerability'::text, 'licence'::text, 'revocation'::text])))
  constraint evidence_statements_manifest_digest_check CHECK ((manifest_digest ~ '^[0-9a-f]{64}$'::text))
  constraint evidence_statements_statement_check CHECK ((length(statement) <= 16384))
  constraint evidence_statements_verdict_check CHECK ((verdict = ANY (ARRAY['pass'::text, 'fail'::text])))
  CREATE INDEX evidence_by_content ON waybill.evidence_statements USING btree (content_ref) WHERE (content_ref IS NOT NULL)
  CREATE INDEX evidence_by_version ON waybill.evidence_statements USING btree (connector_id, version, kind, issued_at DESC)
  row level security
  policy across_tenants for all to waybill_control, waybill_operations using true
  policy with_its_connector for all to waybill_data, waybill_observer using (EXISTS ( SELECT FROM waybill.connectors c WHERE (c.connector_id = evidence_statements.connector_id)))
  grant insert, select to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table figures_reporter
  only_row boolean not null default true
  reporter text
  lease_ends_at timestamp with time zone
  constraint figures_reporter_pkey PRIMARY KEY (only_row)
  constraint figures_reporter_check CHECK (((reporter IS NULL) = (lease_ends_at IS NULL)))
  constraint figures_reporter_only_row_check CHECK (only_row)
  grant select, update to waybill_operations

table gate_turns
  tenant_id text not null
  gate text not null
  next_at timestamp with time zone
  constraint gate_turns_pkey PRIMARY KEY (tenant_id, gate)
  row level security
  policy across_tenants for all to waybill_operations using true
  grant insert, select, update to waybill_operations

table idempotency_keys
  tenant_id text not null
  principal text not null
  route text not null
  idempotency_key text not null
  request_sha256 bytea not null
  claim_no integer not null default 1
  effect_id uuid not null
  leased_until timestamp with time zone not null
  answer_status integer
  answer jsonb
  created_at timestamp with time zone not null default clock_timestamp()
  expires_at timestamp with time zone not null
  constraint idempotency_keys_pkey PRIMARY KEY (tenant_id, principal, route, idempotency_key)
  constraint idempotency_keys_check CHECK (((answer_status IS NULL) = (answer IS NULL)))
  constraint idempotency_keys_claim_no_check CHECK ((claim_no >= 1))
  constraint idempotency_keys_idempotency_key_check CHECK (((length(idempotency_key) >= 1) AND (length(idempotency_key) <= 255)))
  constraint idempotency_keys_request_sha256_check CHECK ((length(request_sha256) = 32))
  CREATE INDEX idempotency_keys_expired ON waybill.idempotency_keys USING btree (expires_at)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant delete, select, update to waybill_operations

table ingresses
  ingress_ref text not null
  tenant_id text not null
  subscription_id text not null
  secrets jsonb not null
  body_limit_bytes integer not null
  constraint ingresses_pkey PRIMARY KEY (ingress_ref)
  constraint ingresses_body_limit_bytes_check CHECK (((body_limit_bytes >= 1) AND (body_limit_bytes <= 26214400)))
  constraint ingresses_tenant_id_subscription_id_fkey FOREIGN KEY (tenant_id, subscription_id) REFERENCES waybill.subscriptions(tenant_id, subscription_id)
  constraint ingresses_tenant_id_subscription_id_key UNIQUE (tenant_id, subscription_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control

table instances
  tenant_id text not null
  instance_id text not null
  connector_id text not null
  version text not null
  status text not null
  grants text[] not null
  config jsonb
  secret_ref text
  signing_secret_refs text[] not null default '{}'::text[]
  config_revision bigint not null default 1
  wake_pending boolean not null default false
  constraint instances_pkey PRIMARY KEY (tenant_id, instance_id)
  constraint instances_config_check CHECK (((config IS NULL) OR (jsonb_typeof(config) = 'object'::text)))
  constraint instances_config_revision_check CHECK ((config_revision >= 1))
  constraint instances_connector_id_version_fkey FOREIGN KEY (connector_id, version) REFERENCES waybill.connector_versions(connector_id, version)
  constraint instances_grants_check CHECK ((grants <@ ARRAY['source'::text, 'tool'::text]))
  constraint instances_secret_ref_check CHECK (((length(secret_ref) >= 1) AND (length(secret_ref) <= 1000)))
  constraint instances_signing_secret_refs_check CHECK (((cardinality(signing_secret_refs) <= 2) AND (array_position(signing_secret_refs, NULL::text) IS NULL)))
  constraint instances_status_check CHECK ((status = ANY (ARRAY['enabled'::text, 'disabled'::text, 'revoked'::text])))
  CREATE INDEX instances_to_wake ON waybill.instances USING btree (tenant_id, instance_id) WHERE wake_pending
  CREATE TRIGGER instances_revoked BEFORE UPDATE OF status ON waybill.instances FOR EACH ROW WHEN (((new.status = 'revoked'::text) AND (old.status <> 'revoked'::text))) EXECUTE FUNCTION waybill.mark_to_wake()
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations
  grant update (wake_pending) to waybill_operations

table lifecycle_requests
  tenant_id text not null
  replica_id text not null
  request_id text not null
  operation text not null
  sequence bigint not null
  answer jsonb not null
  constraint lifecycle_requests_pkey PRIMARY KEY (replica_id, request_id)
  constraint lifecycle_requests_operation_check CHECK ((operation = ANY (ARRAY['register'::text, 'heartbeat'::text, 'drain'::text, 'offline'::text])))
  constraint lifecycle_requests_replica_id_fkey FOREIGN KEY (replica_id) REFERENCES waybill.replicas(replica_id)
  constraint lifecycle_requests_request_id_check CHECK (((length(request_id) >= 1) AND (length(request_id) <= 100)))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy lifecycle for all to waybill_lifecycle using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant delete, insert, select to waybill_lifecycle
  grant select to waybill_observer

table outbox_events
  tenant_id text not null
  aggregate text not null
  aggregate_seq integer not null
  "position" bigint not null generated always as identity
  feed_no bigint
  topic text not null
  payload jsonb not null
  occurred_at timestamp with time zone not null default clock_timestamp()
  constraint outbox_events_pkey PRIMARY KEY (tenant_id, aggregate, aggregate_seq)
  constraint outbox_events_aggregate_seq_check CHECK ((aggregate_seq >= 1))
  CREATE UNIQUE INDEX outbox_events_feed ON waybill.outbox_events USING btree (tenant_id, feed_no) WHERE (feed_no IS NOT NULL)
  CREATE UNIQUE INDEX outbox_events_position ON waybill.outbox_events USING btree ("position") WHERE (feed_no IS NULL)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy platform_or_own for all to waybill_data, waybill_observer using ((tenant_id = waybill.current_tenant()) OR ((tenant_id = '_platform'::text) AND (waybill.current_tenant() IS NOT NULL))) with check (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert to waybill_control
  grant insert, select to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations
  grant update (feed_no) to waybill_operations

table payload_marks
  tenant_id text not null
  state text not null
  through timestamp with time zone not null
  through_id uuid not null default '00000000-0000-0000-0000-000000000000'::uuid
  constraint payload_marks_pkey PRIMARY KEY (tenant_id, state)
  row level security
  policy across_tenants for all to waybill_operations using true
  grant insert, select, update to waybill_operations

table quota_counters
  scope text not null
  scope_key text not null
  tenant_id text
  held integer not null
  released_at timestamp with time zone
  drain_ms real
  constraint quota_counters_pkey PRIMARY KEY (scope, scope_key)
  constraint quota_counters_check CHECK (((tenant_id IS NULL) = (scope = ANY (ARRAY['connector'::text, 'global'::text]))))
  constraint quota_counters_held CHECK ((held >= 0))
  constraint quota_counters_scope_check CHECK ((scope = ANY (ARRAY['binding'::text, 'instance'::text, 'connector'::text, 'tenant_retry'::text, 'tenant'::text, 'global'::text])))
  with (fillfactor=50)
  CREATE INDEX quota_counters_by_tenant ON waybill.quota_counters USING btree (tenant_id, scope, scope_key) WHERE (tenant_id IS NOT NULL)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant insert, select, update to waybill_operations

table quota_policies
  quota_policy_id text not null
  binding_limit integer
  instance_limit integer
  connector_limit integer
  tenant_retry_limit integer
  tenant_limit integer
  global_limit integer
  constraint quota_policies_pkey PRIMARY KEY (quota_policy_id)
  constraint quota_policies_binding_limit_check CHECK ((binding_limit >= 1))
  constraint quota_policies_connector_limit_check CHECK ((connector_limit >= 1))
  constraint quota_policies_global_limit_check CHECK ((global_limit >= 1))
  constraint quota_policies_instance_limit_check CHECK ((instance_limit >= 1))
  constraint quota_policies_tenant_limit_check CHECK ((tenant_limit >= 1))
  constraint quota_policies_tenant_retry_limit_check CHECK ((tenant_retry_limit >= 1))
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table rate_limits
  tenant_id text not null
  instance_id text not null
  due_at timestamp with time zone not null
  each_ms double precision
  held_until timestamp with time zone
  constraint rate_limits_pkey PRIMARY KEY (tenant_id, instance_id)
  constraint rate_limits_each_ms_check CHECK ((each_ms > (0)::double precision))
  with (fillfactor=50)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer

table receipt_checkpoints
  tenant_id text not null
  checkpoint_no integer not null
  kind text not null
  jws text not null
  digest text not null
  created_at timestamp with time zone not null default clock_timestamp()
  constraint receipt_checkpoints_pkey PRIMARY KEY (tenant_id, checkpoint_no)
  constraint receipt_checkpoints_checkpoint_no_check CHECK ((checkpoint_no >= 1))
  constraint receipt_checkpoints_digest_check CHECK ((digest ~ '^[0-9a-f]{64}$'::text))
  constraint receipt_checkpoints_kind_check CHECK ((kind = ANY (ARRAY['chains'::text, 'pruned'::text])))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant select to waybill_data
  grant select to waybill_observer
  grant delete, insert, select to waybill_operations

table receipts
  tenant_id text not null
  subject text not null
  seq integer not null
  kind text not null
  jws text not null
  digest text not null
  previous_digest text
  created_at timestamp with time zone not null default clock_timestamp()
  closes boolean not null default (kind = ANY (ARRAY['acknowledged'::text, 'failed'::text, 'action_completed'::text, 'action_failed'::text, 'action_cancelled'::text]))
  checkpoint_no integer
  constraint receipts_pkey PRIMARY KEY (tenant_id, subject, seq)
  constraint receipts_check CHECK (((seq = 1) = (previous_digest IS NULL)))
  constraint receipts_digest_check CHECK (((length(digest) = 64) AND (ltrim(digest, '0123456789abcdef'::text) = ''::text)))
  constraint receipts_previous_digest_check CHECK (((length(previous_digest) = 64) AND (ltrim(previous_digest, '0123456789abcdef'::text) = ''::text)))
  constraint receipts_seq_check CHECK ((seq >= 1))
  CREATE INDEX receipts_to_checkpoint ON waybill.receipts USING btree (tenant_id, subject, seq) WHERE (closes AND (checkpoint_no IS NULL))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations
  grant update (checkpoint_no) to waybill_operations

table rejected_payloads
  tenant_id text not null
  delivery_id uuid not null
  subscription_id text not null
  content bytea not null
  request jsonb
  size_bytes integer not null
  expires_at timestamp with time zone not null
  constraint rejected_payloads_pkey PRIMARY KEY (tenant_id, delivery_id)
  constraint rejected_payloads_tenant_id_delivery_id_fkey FOREIGN KEY (tenant_id, delivery_id) REFERENCES waybill.deliveries(tenant_id, delivery_id)
  CREATE INDEX rejected_payloads_expired ON waybill.rejected_payloads USING btree (expires_at)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select to waybill_data
  grant delete, select, update to waybill_operations

table replay_items
  tenant_id text not null
  job_id uuid not null
  "position" integer not null
  delivery_id uuid not null
  subscription_id text not null
  planned_version integer not null
  outcome text
  skipped_why text
  series integer
  result text
  constraint replay_items_pkey PRIMARY KEY (tenant_id, job_id, "position")
  constraint replay_items_check CHECK (((NOT (outcome IS DISTINCT FROM 'skipped'::text)) = (skipped_why IS NOT NULL)))
  constraint replay_items_check1 CHECK (((NOT (outcome IS DISTINCT FROM 'replayed'::text)) = (series IS NOT NULL)))
  constraint replay_items_check2 CHECK (((result IS NULL) OR (series IS NOT NULL)))
  constraint replay_items_outcome_check CHECK ((outcome = ANY (ARRAY['replayed'::text, 'skipped'::text])))
  constraint replay_items_result_check CHECK ((result = ANY (ARRAY['acknowledged'::text, 'failed_again'::text])))
  constraint replay_items_skipped_why_check CHECK ((skipped_why = ANY (ARRAY['acknowledged'::text, 'under_way'::text, 'failed_anew'::text, 'removed'::text])))
  constraint replay_items_tenant_id_job_id_fkey FOREIGN KEY (tenant_id, job_id) REFERENCES waybill.replay_jobs(tenant_id, job_id)
  with (fillfactor=70)
  CREATE INDEX replay_items_pending ON waybill.replay_items USING btree (tenant_id, job_id, subscription_id, "position") WHERE (outcome IS NULL)
  CREATE INDEX replay_items_under_way ON waybill.replay_items USING btree (tenant_id, job_id, subscription_id) WHERE ((outcome = 'replayed'::text) AND (result IS NULL))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations

table replay_jobs
  tenant_id text not null
  job_id uuid not null
  state text not null
  filter jsonb not null
  requested_by text not null
  reason text not null
  rate_per_second integer not null
  created_at timestamp with time zone not null default clock_timestamp()
  planned_to_at timestamp with time zone
  planned_to_id uuid
  planned integer not null default 0
  truncated boolean not null default false
  oldest_at timestamp with time zone
  newest_at timestamp with time zone
  run_by text
  started_at timestamp with time zone
  replayed integer not null default 0
  acknowledged integer not null default 0
  failed_again integer not null default 0
  skipped jsonb not null default '{}'::jsonb
  failures_in_a_row integer not null default 0
  moved_by text
  moved_why text
  watch_until timestamp with time zone
  attend_at timestamp with time zone
  finished_at timestamp with time zone
  receipt text
  items_removed_at timestamp with time zone
  constraint replay_jobs_pkey PRIMARY KEY (tenant_id, job_id)
  constraint replay_jobs_check CHECK (((finished_at IS NOT NULL) = (state = ANY (ARRAY['cancelled'::text, 'finished'::text]))))
  constraint replay_jobs_check1 CHECK (((receipt IS NULL) OR (finished_at IS NOT NULL)))
  constraint replay_jobs_check2 CHECK (((items_removed_at IS NULL) OR (receipt IS NOT NULL)))
  constraint replay_jobs_check3 CHECK ((((acknowledged + failed_again) <= replayed) AND (replayed <= planned)))
  constraint replay_jobs_rate_per_second_check CHECK (((rate_per_second >= 1) AND (rate_per_second <= 100)))
  constraint replay_jobs_state_check CHECK ((state = ANY (ARRAY['planning'::text, 'planned'::text, 'running'::text, 'paused'::text, 'cancelled'::text, 'finished'::text])))
  with (fillfactor=70)
  CREATE INDEX replay_jobs_by_time ON waybill.replay_jobs USING btree (tenant_id, created_at DESC, job_id DESC)
  CREATE INDEX replay_jobs_over ON waybill.replay_jobs USING btree (tenant_id, ((items_removed_at IS NULL)), finished_at) WHERE (receipt IS NOT NULL)
  CREATE INDEX replay_jobs_to_attend ON waybill.replay_jobs USING btree (attend_at) WHERE (attend_at IS NOT NULL)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations
  grant update (attend_at, items_removed_at) to waybill_operations

table replay_paces
  tenant_id text not null
  target_id text not null
  next_at timestamp with time zone not null
  constraint replay_paces_pkey PRIMARY KEY (tenant_id, target_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer

table replay_scopes
  tenant_id text not null
  job_id uuid not null
  subscription_id text not null
  planned integer not null
  constraint replay_scopes_pkey PRIMARY KEY (tenant_id, job_id, subscription_id)
  constraint replay_scopes_tenant_id_job_id_fkey FOREIGN KEY (tenant_id, job_id) REFERENCES waybill.replay_jobs(tenant_id, job_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select to waybill_operations

table replicas
  replica_id text not null
  tenant_id text not null
  instance_id text not null
  connector_id text not null
  version text not null
  endpoint text not null
  peer_principal_id text not null
  peer_principal_kind text not null
  peer_did text not null
  trust_domain text not null
  transport_profile text not null
  region text not null
  zone text not null
  capacity_class text not null
  capacity integer not null
  slot bigint not null default hashtextextended(replica_id, (0)::bigint)
  status text not null default 'offline'::text
  lease_ends_at timestamp with time zone not null default '-infinity'::timestamp with time zone
  sequence bigint not null default 0
  incarnation bigint not null default 0
  health_revision bigint not null default 0
  store_epoch text
  contrary integer not null default 0
  active_assignments integer not null default 0
  unknown_failures integer not null default 0
  circuit_open_until timestamp with time zone
  probes integer not null default 0
  release_pending boolean not null default false
  constraint replicas_pkey PRIMARY KEY (replica_id)
  constraint replicas_active_assignments_check CHECK ((active_assignments >= 0))
  constraint replicas_capacity_check CHECK ((capacity >= 0))
  constraint replicas_connector_id_version_fkey FOREIGN KEY (connector_id, version) REFERENCES waybill.connector_versions(connector_id, version)
  constraint replicas_contrary_check CHECK ((contrary >= 0))
  constraint replicas_health_revision_check CHECK ((health_revision >= 0))
  constraint replicas_incarnation_check CHECK ((incarnation >= 0))
  constraint replicas_probes_check CHECK ((probes >= 0))
  constraint replicas_sequence_check CHECK ((sequence >= 0))
  constraint replicas_status_check CHECK ((status = ANY (ARRAY['registered'::text, 'ready'::text, 'draining'::text, 'drained'::text, 'offline'::text])))
  constraint replicas_tenant_id_instance_id_fkey FOREIGN KEY (tenant_id, instance_id) REFERENCES waybill.instances(tenant_id, instance_id)
  constraint replicas_transport_profile_check CHECK ((transport_profile = ANY (ARRAY['https'::text, 'http-loopback'::text])))
  constraint replicas_unknown_failures_check CHECK ((unknown_failures >= 0))
  with (fillfactor=60)
  CREATE INDEX replicas_by_instance ON waybill.replicas USING btree (tenant_id, instance_id, version)
  CREATE INDEX replicas_by_status ON waybill.replicas USING btree (tenant_id, status, replica_id COLLATE "C")
  CREATE INDEX replicas_by_tenant ON waybill.replicas USING btree (tenant_id, replica_id COLLATE "C")
  CREATE INDEX replicas_ready ON waybill.replicas USING btree (tenant_id, instance_id, version, region, zone, slot) WHERE (status = 'ready'::text)
  CREATE INDEX replicas_to_release ON waybill.replicas USING btree (replica_id) WHERE release_pending
  row level security
  policy across_tenants for all to waybill_operations using true
  policy lifecycle for all to waybill_lifecycle using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant select to waybill_control
  grant select to waybill_data
  grant select to waybill_lifecycle
  grant select to waybill_observer
  grant select to waybill_operations
  grant insert (replica_id, tenant_id, instance_id, connector_id, version, endpoint, peer_principal_id, peer_principal_kind, peer_did, trust_domain, transport_profile, region, zone, capacity_class, capacity) to waybill_control
  grant update (capacity) to waybill_control
  grant update (active_assignments, unknown_failures, circuit_open_until, probes) to waybill_data
  grant update (status, lease_ends_at, sequence, incarnation, health_revision, store_epoch, contrary, release_pending) to waybill_lifecycle
  grant update (status, lease_ends_at, sequence, incarnation, health_revision, contrary, active_assignments, unknown_failures, circuit_open_until, probes, release_pending) to waybill_operations

table retired_ingresses
  ingress_ref text not null
  tenant_id text not null
  subscription_id text not null
  valid_until timestamp with time zone not null
  constraint retired_ingresses_pkey PRIMARY KEY (ingress_ref)
  constraint retired_ingresses_tenant_id_subscription_id_fkey FOREIGN KEY (tenant_id, subscription_id) REFERENCES waybill.subscriptions(tenant_id, subscription_id)
  CREATE INDEX retired_ingresses_by_subscription ON waybill.retired_ingresses USING btree (tenant_id, subscription_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant delete, insert, select to waybill_control

table retired_routes
  tenant_id text not null
  action_id text not null
  generation integer not null
  route jsonb not null
  fence bigint not null
  retired_at timestamp with time zone not null default clock_timestamp()
  retired_by text not null
  reason text not null
  proof jsonb not null
  constraint retired_routes_pkey PRIMARY KEY (tenant_id, action_id, generation)
  constraint retired_routes_tenant_id_action_id_fkey FOREIGN KEY (tenant_id, action_id) REFERENCES waybill.actions(tenant_id, action_id) ON DELETE CASCADE
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table route_attempts
  tenant_id text not null
  action_id text not null
  attempt_no integer not null
  owner text not null
  fence bigint not null
  replica_id text not null
  incarnation bigint not null
  health_revision bigint not null
  probe boolean not null
  counters jsonb not null
  opened_at timestamp with time zone not null default clock_timestamp()
  deadline_at timestamp with time zone not null
  settled_at timestamp with time zone
  settlement text
  cause text
  evidence jsonb
  late_evidence jsonb not null default '[]'::jsonb
  constraint route_attempts_pkey PRIMARY KEY (tenant_id, action_id, attempt_no)
  constraint route_attempts_attempt_no_check CHECK ((attempt_no >= 1))
  constraint route_attempts_cause_check CHECK ((cause = ANY (ARRAY['host'::text, 'ours'::text, 'deadline'::text, 'replica_lease'::text, 'offline'::text, 'incarnation'::text])))
  constraint route_attempts_settled CHECK (((settled_at IS NULL) = (settlement IS NULL)))
  constraint route_attempts_settlement_check CHECK ((settlement = ANY (ARRAY['completed'::text, 'outcome_unknown'::text, 'cancelled'::text, 'lease_expired'::text, 'not_started'::text])))
  constraint route_attempts_tenant_id_action_id_fence_key UNIQUE (tenant_id, action_id, fence)
  constraint route_attempts_tenant_id_action_id_fkey FOREIGN KEY (tenant_id, action_id) REFERENCES waybill.routes(tenant_id, action_id)
  with (fillfactor=70)
  CREATE INDEX route_attempts_by_replica ON waybill.route_attempts USING btree (replica_id) WHERE (settled_at IS NULL)
  CREATE UNIQUE INDEX route_attempts_one_open ON waybill.route_attempts USING btree (tenant_id, action_id) WHERE (settled_at IS NULL)
  CREATE INDEX route_attempts_open ON waybill.route_attempts USING btree (tenant_id, opened_at, action_id) WHERE (settled_at IS NULL)
  CREATE INDEX route_attempts_overdue ON waybill.route_attempts USING btree (deadline_at) WHERE (settled_at IS NULL)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select, update to waybill_operations

table routes
  tenant_id text not null
  action_id text not null
  capability_id text not null
  connector_id text not null
  instance_id text not null
  version text not null
  manifest_digest text not null
  replica_id text not null
  endpoint text not null
  peer_principal_id text not null
  peer_principal_kind text not null
  peer_did text not null
  trust_domain text not null
  transport_profile text not null
  region text not null
  zone text not null
  capacity_class text not null
  catalog_revision bigint not null
  binding_policy_revision bigint not null
  credential_revision text not null
  quota_policy_id text
  assigned_at timestamp with time zone not null default clock_timestamp()
  fence bigint not null
  generation integer not null default 1
  retired_at timestamp with time zone
  constraint routes_pkey PRIMARY KEY (tenant_id, action_id)
  constraint routes_tenant_id_action_id_fkey FOREIGN KEY (tenant_id, action_id) REFERENCES waybill.actions(tenant_id, action_id)
  with (fillfactor=80)
  CREATE INDEX routes_by_instance ON waybill.routes USING btree (tenant_id, instance_id, assigned_at DESC, action_id DESC)
  CREATE INDEX routes_by_replica ON waybill.routes USING btree (tenant_id, replica_id, assigned_at DESC, action_id DESC)
  CREATE INDEX routes_by_time ON waybill.routes USING btree (tenant_id, assigned_at DESC, action_id DESC)
  CREATE TRIGGER routes_immutable BEFORE UPDATE ON waybill.routes FOR EACH ROW EXECUTE FUNCTION waybill.guard_route()
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant delete, select, update to waybill_operations

table schema_version
  version bigint not null
  name text not null
  md5 text not null
  run_at timestamp with time zone not null
  constraint schema_version_pkey PRIMARY KEY (version)
  grant select to waybill_control
  grant select to waybill_data
  grant select to waybill_lifecycle
  grant select to waybill_observer
  grant select to waybill_operations

table settings
  only_row boolean not null default true
  replay_window_minutes integer not null default 60
  default_retry jsonb not null
  rejected_bytes_minutes integer not null default 60
  circuit_unknowns integer not null default 5
  circuit_open_ms integer not null default 30000
  circuit_probes integer not null default 2
  replica_lease_ms integer not null default 30000
  replica_hysteresis integer not null default 3
  required_evidence text[] not null default '{conformance}'::text[]
  trusted_signers jsonb
  action_retention_days integer not null default 30
  tombstone_retention_days integer not null default 400
  recovering_since timestamp with time zone
  retention jsonb not null default '{"tenants": {}, "failedDays": 90, "receiptDays": 400, "rejectedDays": 14, "acknowledgedDays": 30, "deduplicatedDays": 14, "failedPayloadDays": 90, "acknowledgedPayloadDays": 14}'::jsonb
  event_retention_days integer not null default 14
  event_hold_days integer not null default 30
  target_addresses jsonb not null default '{"http": false, "allow": [], "ports": [443]}'::jsonb
  workflow_targets jsonb not null default '[]'::jsonb
  tenant_in_flight integer not null default 75
  trusted_approvers jsonb not null default '{}'::jsonb
  approval_ttl_ms bigint not null default 86400000
  constraint settings_pkey PRIMARY KEY (only_row)
  constraint settings_action_retention_days_check CHECK (((action_retention_days >= 1) AND (action_retention_days <= 3650)))
  constraint settings_approval_ttl_ms_check CHECK (((approval_ttl_ms >= 1000) AND (approval_ttl_ms <= '2592000000'::bigint)))
  constraint settings_circuit_open_ms_check CHECK (((circuit_open_ms >= 100) AND (circuit_open_ms <= 3600000)))
  constraint settings_circuit_probes_check CHECK (((circuit_probes >= 1) AND (circuit_probes <= 100)))
  constraint settings_circuit_unknowns_check CHECK (((circuit_unknowns >= 0) AND (circuit_unknowns <= 1000)))
  constraint settings_event_hold_days_check CHECK (((event_hold_days >= 1) AND (event_hold_days <= 3650)))
  constraint settings_event_retention_days_check CHECK (((event_retention_days >= 1) AND (event_retention_days <= 3650)))
  constraint settings_only_row_check CHECK (only_row)
  constraint settings_rejected_bytes_minutes_check CHECK (((rejected_bytes_minutes >= 1) AND (rejected_bytes_minutes <= 10080)))
  constraint settings_replay_window_minutes_check CHECK (((replay_window_minutes >= 1) AND (replay_window_minutes <= 43200)))
  constraint settings_replica_hysteresis_check CHECK (((replica_hysteresis >= 1) AND (replica_hysteresis <= 20)))
  constraint settings_replica_lease_ms_check CHECK (((replica_lease_ms >= 1000) AND (replica_lease_ms <= 600000)))
  constraint settings_required_evidence_check CHECK ((required_evidence <@ ARRAY['signature'::text, 'sbom'::text, 'provenance'::text, 'conformance'::text, 'vulnerability'::text, 'licence'::text]))
  constraint settings_tenant_in_flight_check CHECK (((tenant_in_flight >= 1) AND (tenant_in_flight <= 10000)))
  constraint settings_tombstone_retention_days_check CHECK (((tombstone_retention_days >= 1) AND (tombstone_retention_days <= 36500)))
  constraint settings_trusted_approvers_check CHECK ((jsonb_typeof(trusted_approvers) = 'object'::text))
  constraint settings_trusted_signers_check CHECK (((trusted_signers IS NULL) OR (jsonb_typeof(trusted_signers) = 'object'::text)))
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_lifecycle
  grant select to waybill_observer
  grant select to waybill_operations
  grant update (recovering_since) to waybill_operations

table subscriptions
  tenant_id text not null
  subscription_id text not null
  instance_id text not null
  target_id text not null
  event_types text[] not null
  retry_profile jsonb
  lane text not null default 'durable'::text
  state text not null
  pause_reason text
  last_delivery_at timestamp with time zone
  event_seq integer not null default 0
  drain_per_second numeric
  wake_pending boolean not null default false
  constraint subscriptions_pkey PRIMARY KEY (tenant_id, subscription_id)
  constraint subscriptions_check CHECK (((state = 'paused'::text) OR (pause_reason IS NULL)))
  constraint subscriptions_drain_per_second_check CHECK (((drain_per_second > (0)::numeric) AND (drain_per_second <= (1000)::numeric)))
  constraint subscriptions_event_types_check CHECK ((cardinality(event_types) >= 1))
  constraint subscriptions_lane_check CHECK ((lane = ANY (ARRAY['durable'::text, 'express'::text])))
  constraint subscriptions_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'deactivated'::text])))
  constraint subscriptions_tenant_id_instance_id_fkey FOREIGN KEY (tenant_id, instance_id) REFERENCES waybill.instances(tenant_id, instance_id)
  constraint subscriptions_tenant_id_target_id_fkey FOREIGN KEY (tenant_id, target_id) REFERENCES waybill.targets(tenant_id, target_id)
  CREATE INDEX subscriptions_to_wake ON waybill.subscriptions USING btree (tenant_id, subscription_id) WHERE wake_pending
  CREATE TRIGGER subscriptions_ended BEFORE UPDATE OF state ON waybill.subscriptions FOR EACH ROW WHEN (((new.state = 'deactivated'::text) AND (old.state <> 'deactivated'::text))) EXECUTE FUNCTION waybill.mark_to_wake()
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations
  grant update (state, pause_reason, last_delivery_at, event_seq) to waybill_data
  grant update (wake_pending) to waybill_operations

table sweep_turn
  only_row boolean not null default true
  free_at timestamp with time zone not null default '-infinity'::timestamp with time zone
  constraint sweep_turn_pkey PRIMARY KEY (only_row)
  constraint sweep_turn_only_row_check CHECK (only_row)
  grant select, update to waybill_operations

table target_states
  tenant_id text not null
  target_id text not null
  breaker text not null default 'closed'::text
  failures integer not null default 0
  opens integer not null default 0
  open_until timestamp with time zone
  probe_delivery uuid
  probe_attempt integer
  probe_until timestamp with time zone
  paused_at timestamp with time zone
  paused_by text
  pause_reason text
  constraint target_states_pkey PRIMARY KEY (tenant_id, target_id)
  constraint target_states_breaker_check CHECK ((breaker = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text])))
  constraint target_states_failures_check CHECK ((failures >= 0))
  constraint target_states_open CHECK (((breaker = 'closed'::text) = (open_until IS NULL)))
  constraint target_states_opens_check CHECK ((opens >= 0))
  constraint target_states_paused CHECK ((((paused_at IS NULL) = (paused_by IS NULL)) AND ((paused_at IS NULL) = (pause_reason IS NULL))))
  constraint target_states_probe CHECK (((breaker = 'half_open'::text) = (probe_until IS NOT NULL)))
  constraint target_states_tenant_id_target_id_fkey FOREIGN KEY (tenant_id, target_id) REFERENCES waybill.targets(tenant_id, target_id)
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  grant insert, select, update to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table targets
  tenant_id text not null
  target_id text not null
  kind text not null
  config jsonb not null
  drain_per_second numeric not null default 10
  max_in_flight integer not null default 50
  breaker_failures integer not null default 5
  breaker_open_ms integer not null default 30000
  constraint targets_pkey PRIMARY KEY (tenant_id, target_id)
  constraint targets_breaker_failures_check CHECK (((breaker_failures >= 0) AND (breaker_failures <= 1000)))
  constraint targets_breaker_open_ms_check CHECK (((breaker_open_ms >= 100) AND (breaker_open_ms <= 3600000)))
  constraint targets_drain_per_second_check CHECK (((drain_per_second > (0)::numeric) AND (drain_per_second <= (1000)::numeric)))
  constraint targets_kind_check CHECK ((kind = ANY (ARRAY['http'::text, 'action'::text, 'workflow'::text, 'event'::text])))
  constraint targets_max_in_flight_check CHECK (((max_in_flight >= 1) AND (max_in_flight <= 100)))
  row level security
  policy across_tenants for all to waybill_operations using true
  policy one_tenant for all to waybill_data, waybill_observer using (tenant_id = waybill.current_tenant())
  policy publication for all to waybill_control using true
  grant insert, select, update to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

table version_capabilities
  connector_id text not null
  version text not null
  capability_id text not null
  constraint version_capabilities_pkey PRIMARY KEY (connector_id, version, capability_id)
  constraint version_capabilities_capability_id_fkey FOREIGN KEY (capability_id) REFERENCES waybill.capabilities(capability_id)
  constraint version_capabilities_connector_id_version_fkey FOREIGN KEY (connector_id, version) REFERENCES waybill.connector_versions(connector_id, version)
  CREATE INDEX version_capabilities_by_capability ON waybill.version_capabilities USING btree (capability_id)
  row level security
  policy across_tenants for all to waybill_control, waybill_operations using true
  policy with_its_connector for all to waybill_data, waybill_observer using (EXISTS ( SELECT FROM waybill.connectors c WHERE (c.connector_id = version_capabilities.connector_id)))
  grant insert, select to waybill_control
  grant select to waybill_data
  grant select to waybill_observer
  grant select to waybill_operations

function accept_sending(p_tenant text, p_delivery uuid, p_fields jsonb, p_payload bytea) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function accepted_around(p_tenant text, p_subscription text, p_key text, p_at timestamp with time zone, p_window interval) returns waybill.dedup_keys, sql, stable
  grant execute to waybill_data

function action_facts(a waybill.actions) returns jsonb, sql, volatile
  grant execute to waybill_data

function action_may_follow(p_from text, p_to text) returns boolean, sql, immutable
  grant execute to waybill_data
  grant execute to waybill_operations

function action_result(a waybill.actions) returns jsonb, sql, immutable
  grant execute to waybill_data

function admit_lifecycle(p_replica text, p_request text, p_operation text, p_previous bigint) returns jsonb, plpgsql, volatile
  grant execute to waybill_lifecycle

function admits_probe(s waybill.target_states) returns boolean, sql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function adopt_action(p_tenant text, p_action text, p_told jsonb) returns text, plpgsql, volatile
  grant execute to waybill_operations

function answer_lifecycle(r waybill.replicas, p_request text, p_operation text) returns jsonb, plpgsql, volatile
  grant execute to waybill_lifecycle

function append_checkpoint(p_tenant text, p_checkpoint jsonb, p_leaves jsonb) returns boolean, plpgsql, volatile
  grant execute to waybill_operations

function append_receipts(p_tenant text, p_subjects text[], p_receipts jsonb[]) returns void, plpgsql, volatile
  grant execute to waybill_data

function approval_facts(p waybill.approvals) returns jsonb, sql, volatile
  grant execute to waybill_data

function approval_fault(d waybill.deliveries) returns text, sql, volatile
  grant execute to waybill_data

function approval_needed(p_tenant text, p_capability text) returns boolean, sql, stable
  grant execute to waybill_data

function ask_approval(p_tenant text, p_action text, p_attend_ms integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function ask_receipt(a waybill.actions, p_kind text, p_receipt jsonb) returns jsonb, sql, volatile
  grant execute to waybill_data

function attempt_deadline(p_chain jsonb) returns timestamp with time zone, sql, volatile
  grant execute to waybill_data

function audit_switch(p_tenant text, p_pause boolean, p_actor text, p_subject text, p_reason text) returns void, sql, volatile
  grant execute to waybill_data

function await_action(p_tenant text, p_action text) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function await_conversation(p_lock bigint) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function begin_dispatch(p_tenant text, p_action text, p_fence bigint, p_resume boolean) returns TABLE(answer jsonb, request bytea), plpgsql, volatile
  grant execute to waybill_data

function begin_fencing(p_tenant text, p_action text, p_ask jsonb) returns TABLE(answer jsonb, request bytea), plpgsql, volatile
  grant execute to waybill_data

function begin_recovery(p_by text) returns timestamp with time zone, plpgsql, volatile
  grant execute to waybill_operations

function begin_repin(p_tenant text, p_action text, p_above bigint) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function binding_chain(p_tenant text, p_capability text) returns waybill.bound[], sql, stable
  grant execute to waybill_data

function bounded_evidence(p_evidence jsonb) returns jsonb, sql, immutable
  grant execute to waybill_data
  grant execute to waybill_operations

function buried_action(b waybill.action_tombstones) returns waybill.actions, sql, stable
  grant execute to waybill_data

function candidate_replicas(p_tenant text, p_action text, p_level waybill.bound[], p_topology jsonb, p_tiers integer) returns text[], sql, volatile
  grant execute to waybill_data

function capability_definition(c waybill.capabilities) returns jsonb, sql, immutable
  grant execute to waybill_data

function capability_ids(p_tenant text, p_after text, p_wanted jsonb) returns refcursor, plpgsql, stable
  grant execute to waybill_data

function capability_page(p_tenant text, p_wanted jsonb, p_after jsonb, p_limit integer) returns jsonb, plpgsql, stable
  grant execute to waybill_data

function certification_fault(p_tenant text, p_instance text, p_connector text, p_version text) returns text, sql, stable
  grant execute to waybill_operations

function certification_shown(c waybill.certifications, p_tenant text) returns jsonb, sql, stable

function certification_work(p_connector text, p_version text, p_suite text, p_run integer) returns jsonb, plpgsql, stable
  grant execute to waybill_operations

function chain_moved(d waybill.deliveries, p_receipt jsonb) returns boolean, sql, immutable
  grant execute to waybill_data

function chains_ending(p_tenant text, p_through integer) returns SETOF text, sql, stable
  grant execute to waybill_operations

function chains_to_checkpoint(p_tenant text, p_limit integer) returns jsonb, sql, volatile
  grant execute to waybill_operations

function choose_binding(a waybill.actions, p_request jsonb, p_topology jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function circuit_admits(r waybill.replicas, p_probes integer) returns boolean, sql, volatile
  grant execute to waybill_data

function claim_event_sinks(p_limit integer) returns TABLE(tenant_id text, sink_id text, lease_no bigint), sql, volatile
  grant execute to waybill_operations

function claim_express(p_tenant text, p_owner text, p_limit integer, p_apart boolean) returns TABLE(delivery_id uuid, answer text, info json, payload bytea), plpgsql, volatile
  grant execute to waybill_data

function claim_idempotency_key(p_tenant text, p_principal text, p_route text, p_key text, p_sha256 bytea, p_lease_ms integer, p_keep_ms bigint, p_effect uuid) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function claim_unattended(p_limit integer, p_push_ms integer) returns TABLE(tenant_id text, delivery_id uuid, state text, connector_id text, event_type text, subscription_id text, wake boolean), sql, volatile
  grant execute to waybill_operations

function claim_unattended_actions(p_limit integer, p_claim_ms integer) returns TABLE(tenant_id text, action_id text, capability_id text, request_digest text, affinity_key text, news boolean), sql, volatile
  grant execute to waybill_operations

function claim_unattended_replays(p_limit integer, p_push_ms integer) returns TABLE(tenant_id text, job_id uuid), sql, volatile
  grant execute to waybill_operations

function claim_unshown(p_limit integer, p_push_ms integer) returns TABLE(tenant_id text, delivery_id uuid, state text, connector_id text, event_type text, subscription_id text, wake boolean), sql, volatile
  grant execute to waybill_operations

function close_action(a waybill.actions, p_result jsonb, p_receipt jsonb) returns waybill.actions, plpgsql, volatile
  grant execute to waybill_data

function close_attempt(p_tenant text, p_delivery uuid, p_attempt integer, p_close jsonb, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function close_attempts(p_tenant text, p_closings jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function close_dispatch(p_tenant text, p_action text, p_fence bigint, p_close jsonb, p_result bytea, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function closing_receipt(p_outcome text) returns text, sql, immutable
  grant execute to waybill_data

function conclude_certification(p_connector text, p_version text, p_suite text, p_run integer, p_end jsonb, p_report bytea) returns text, plpgsql, volatile, security definer
  grant execute to waybill_operations

function conclude_fencing(p_tenant text, p_action text, p_fence bigint, p_found jsonb, p_result bytea, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function conclude_repin(p_tenant text, p_action text, p_fence bigint, p_repin jsonb, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function conclude_replay(p_tenant text, p_job uuid, p_stated jsonb, p_receipt text) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function connector_is_visible(p_connector text, p_tenant text) returns boolean, sql, stable

function connector_page(p_tenant text, p_filter jsonb, p_after jsonb, p_limit integer) returns SETOF jsonb, plpgsql, volatile
  grant execute to waybill_data

function counter_differences(p_limit integer) returns SETOF waybill.counter_difference, sql, stable
  grant execute to waybill_operations

function create_replay(p_tenant text, p_job uuid, p_wish jsonb, p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function current_tenant() returns text, sql, stable
  grant execute to public

function decide_approval(p_tenant text, p_action text, p_decision jsonb, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function delivery_action(p_tenant text, p_delivery uuid) returns TABLE(action jsonb, result_head bytea), plpgsql, volatile
  grant execute to waybill_data

function delivery_facts(d waybill.deliveries) returns jsonb, sql, volatile
  grant execute to waybill_data

function delivery_facts_json(d waybill.deliveries) returns json, sql, volatile
  grant execute to waybill_data

function delivery_may_follow(p_from text, p_to text) returns boolean, sql, immutable
  grant execute to waybill_data
  grant execute to waybill_operations

function delivery_needs(p_tenant text, p_sha256 bytea) returns boolean, sql, stable
  grant execute to waybill_operations

function delivery_source(d waybill.deliveries) returns jsonb, sql, immutable
  grant execute to waybill_data

function delivery_tenants(p_after text, p_limit integer) returns SETOF text, plpgsql, stable
  grant execute to waybill_operations

function dispatch_chain(p_tenant text, p_subscription text) returns jsonb, plpgsql, stable
  grant execute to waybill_data

function doubt_action(p_tenant text, p_action text, p_sent_fence bigint) returns text, plpgsql, volatile
  grant execute to waybill_operations

function doubt_state(a waybill.actions) returns waybill.actions, sql, volatile
  grant execute to waybill_operations

function drain_replica(p_replica text, p_request text, p_previous bigint) returns jsonb, plpgsql, volatile
  grant execute to waybill_lifecycle

function drain_turns(p_rate numeric, p_next timestamp with time zone, p_limit integer, OUT turns integer, OUT next_at timestamp with time zone) returns record, plpgsql, volatile
  grant execute to waybill_operations

function due_replays(p_tenant text, p_job uuid, p_busy integer, p_unsettled integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function emit_delivery_events(p_tenant text, p_deliveries uuid[], p_event_seqs integer[], p_topic text, p_payloads jsonb[]) returns void, plpgsql, volatile
  grant execute to waybill_data

function end_attempt(t waybill.route_attempts, p_settlement text, p_cause text, p_evidence jsonb) returns void, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function end_overdue(t waybill.route_attempts) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function end_recovery(p_by text) returns boolean, plpgsql, volatile
  grant execute to waybill_operations

function event_facts(e waybill.outbox_events) returns jsonb, sql, stable
  grant execute to waybill_data
  grant execute to waybill_operations

function events_behind(p_tenant text, p_after bigint, p_limit integer) returns SETOF waybill.outbox_events, sql, stable
  grant execute to waybill_data
  grant execute to waybill_operations

function evidence_until(v waybill.connector_versions, s waybill.settings) returns timestamp with time zone, sql, stable
  grant execute to waybill_control

function expire_approval(p_tenant text, p_action text, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function expire_attempt(p_tenant text, p_action text, p_fence bigint) returns boolean, plpgsql, volatile
  grant execute to waybill_operations

function expire_replicas(p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function express_tenants(p_after text, p_limit integer) returns SETOF text, sql, volatile
  grant execute to waybill_operations

function extend_reservation(p_tenant text, p_action text, p_fence bigint, p_hold_ms integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function fail_delivery(p_tenant text, p_delivery uuid, p_reason text, p_detail text, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function feed_end(p_tenant text) returns bigint, plpgsql, volatile
  grant execute to waybill_data

function fence_after(p_last bigint, p_reported bigint) returns bigint, sql, volatile
  grant execute to waybill_data

function find_action(p_tenant text, p_action text) returns waybill.actions, plpgsql, stable
  grant execute to waybill_data

function find_capability(p_tenant text, p_capability text) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function find_connection(p_tenant text, p_connector text, p_instance text, p_operation text) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function find_ingress(p_ingress_ref text) returns jsonb, sql, stable, security definer
  grant execute to waybill_data

function finish_releases(p_limit integer) returns void, sql, volatile
  grant execute to waybill_operations

function forget_events(p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function forget_expired(p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function forget_tenant_events(p_tenant text, p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function give_back(a waybill.actions) returns waybill.actions, plpgsql, volatile
  grant execute to waybill_operations

function give_back_actions(p_tenants text[], p_actions text[], p_claim_ms integer, p_again_ms integer) returns void, sql, volatile
  grant execute to waybill_operations

function give_up_action(p_tenant text, p_action text, p_reason text, p_detail text, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function guard_action_state() returns trigger, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function guard_delivery_state() returns trigger, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function guard_route() returns trigger, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function hand_to_operator(a waybill.actions, p_reason text, p_detail text) returns waybill.actions, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function has_room(r waybill.replicas, p_probes integer) returns boolean, sql, volatile
  grant execute to waybill_data

function heartbeat_replica(p_replica text, p_request text, p_previous bigint, p_healthy boolean) returns jsonb, plpgsql, volatile
  grant execute to waybill_lifecycle

function hold_rate(p_tenant text, p_instance text, p_ms bigint) returns void, sql, volatile
  grant execute to waybill_data

function in_flight(p_tenant text, p_target text) returns integer, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function ingest_deliveries(p_tenant text, p_items jsonb, p_payloads bytea, p_tell boolean) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function is_clear(p_tenant text, p_target text) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function is_usual(p_tenant text, p_target text, p_health text) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function judge_arrivals(p_tenant text, p_all waybill.arrival[]) returns waybill.arrival[], plpgsql, volatile
  grant execute to waybill_data

function keep_action_artifact(p_tenant text, p_sha256 bytea, p_content bytea) returns void, plpgsql, volatile
  grant execute to waybill_data

function keep_artifact(p_tenant text, p_sha256 bytea, p_content bytea) returns void, plpgsql, volatile
  grant execute to waybill_data

function keep_idempotent_answer(p_tenant text, p_principal text, p_route text, p_key text, p_claim integer, p_status integer, p_answer jsonb) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function keep_late_evidence(t waybill.route_attempts, p_evidence jsonb) returns void, sql, volatile
  grant execute to waybill_data

function keep_pace(p_tenant text, p_instance text, p_each_ms double precision) returns void, plpgsql, volatile
  grant execute to waybill_data

function keep_receipt(a waybill.actions, p_receipt jsonb) returns waybill.actions, plpgsql, volatile
  grant execute to waybill_data

function leave_sweep_turn(p_pause_ms integer) returns void, sql, volatile
  grant execute to waybill_operations

function let_go(p_tenant text, p_sha256 bytea[]) returns void, sql, volatile
  grant execute to waybill_operations

function lock_replica(p_tenant text, p_action text, p_level waybill.bound[], p_topology jsonb, p_tiers integer) returns waybill.replicas, plpgsql, volatile
  grant execute to waybill_data

function longest_receipt_days(s waybill.settings) returns integer, sql, stable
  grant execute to waybill_operations

function lost_actions(p_runs jsonb) returns TABLE(tenant_id text, action_id text), sql, stable
  grant execute to waybill_operations

function mark_closed(p_ctids tid[], p_closes jsonb[]) returns integer, plpgsql, volatile
  grant execute to waybill_data

function mark_dispatched(p_ctids tid[], p_now timestamp with time zone, p_deadline timestamp with time zone) returns SETOF waybill.deliveries, plpgsql, volatile
  grant execute to waybill_data

function mark_settled(p_ctids tid[], p_state text, p_reason text, p_detail text, p_digests text[]) returns SETOF waybill.deliveries, plpgsql, volatile
  grant execute to waybill_data

function mark_to_wake() returns trigger, plpgsql, volatile
  grant execute to waybill_control

function may_be_on_the_wire(a waybill.actions) returns boolean, sql, stable
  grant execute to waybill_data

function mend_counters(p_by text, p_limit integer) returns SETOF waybill.counter_difference, plpgsql, volatile
  grant execute to waybill_operations

function move_action(p_tenant text, p_action text, p_from text[], p_to text, p_fields jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function move_replay(p_tenant text, p_job uuid, p_move text, p_by text, p_reason text) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function ms_until(p_at timestamp with time zone) returns bigint, sql, volatile
  grant execute to waybill_data
  grant execute to waybill_lifecycle

function next_checkpoint(p_tenant text) returns jsonb, sql, stable
  grant execute to waybill_operations

function next_fence(p_tenant text, p_action text, p_above bigint) returns bigint, plpgsql, volatile
  grant execute to waybill_data

function next_sink_events(p_tenant text, p_sink text, p_lease_no bigint, p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function note_action_wait(p_tenant text, p_action text, p_reason text, p_detail text, p_ms integer) returns void, plpgsql, volatile
  grant execute to waybill_data

function note_doubt() returns trigger, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function note_following(p_tenant text, p_delivery uuid, p_attempt integer, p_detail text, p_again_ms integer) returns void, plpgsql, volatile
  grant execute to waybill_data

function note_progress(p_tenant text, p_action text, p_fence bigint, p_progress jsonb) returns void, plpgsql, volatile
  grant execute to waybill_data

function note_target_health(a waybill.delivery_attempts, p_health text) returns void, plpgsql, volatile
  grant execute to waybill_data

function offered_profiles(p_capability text) returns text[], sql, stable
  grant execute to waybill_data

function offline_replica(p_replica text, p_request text, p_previous bigint) returns jsonb, plpgsql, volatile
  grant execute to waybill_lifecycle

function open_apart(p_tenant text, p_delivery uuid, p_owner text) returns TABLE(answer text, info jsonb, payload bytea), plpgsql, volatile
  grant execute to waybill_data

function open_attempt(p_tenant text, p_delivery uuid, p_owner text, p_driver text) returns TABLE(answer text, info jsonb, payload bytea), plpgsql, volatile
  grant execute to waybill_data

function open_ready(p_tenant text, p_ctids tid[], p_owner text, p_chain jsonb, p_deadline timestamp with time zone) returns TABLE(id uuid, facts json, opening json), plpgsql, volatile
  grant execute to waybill_data

function open_reservation(r waybill.routes, x waybill.replicas, b waybill.bound, p_request jsonb) returns waybill.route_attempts, plpgsql, volatile
  grant execute to waybill_data

function overdue_attempts(p_limit integer) returns TABLE(tenant_id text, action_id text, fence bigint), sql, volatile
  grant execute to waybill_operations

function overdue_cause(t waybill.route_attempts) returns text, sql, volatile
  grant execute to waybill_operations

function parked_events(s waybill.event_sinks) returns jsonb, sql, volatile
  grant execute to waybill_operations

function pause_subscription(d waybill.deliveries, p_target text, p_reason text) returns void, plpgsql, volatile
  grant execute to waybill_data

function payload_kept_until(p_tenant text, p_state text, p_settled_at timestamp with time zone) returns timestamp with time zone, sql, stable
  grant execute to waybill_operations

function place_action(a waybill.actions, p_level waybill.bound[], p_request jsonb, p_topology jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function plan_contracts(p_tenant text, p_capabilities text[]) returns jsonb, plpgsql, stable
  grant execute to waybill_data

function plan_replay(p_tenant text, p_job uuid, p_batch integer, p_max integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function project_evidence(p_connectors text[], p_versions text[]) returns void, sql, volatile
  grant execute to waybill_control

function prune_receipts(p_tenant text, p_through integer, p_checkpoint jsonb) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function rate_due(l waybill.rate_limits, p_each_ms double precision) returns timestamp with time zone, sql, volatile
  grant execute to waybill_data

function reacquire_route(r waybill.routes, p_request jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function read_action(p_tenant text, p_action text) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function read_catalog_revision() returns bigint, sql, stable
  grant execute to waybill_data

function read_certification(p_tenant text, p_connector text, p_version text) returns jsonb, sql, stable, security definer
  grant execute to waybill_data

function read_certification_report(p_tenant text, p_connector text, p_version text) returns bytea, sql, stable, security definer
  grant execute to waybill_data

function read_delivery_facts(p_tenant text, p_delivery uuid) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function read_events(p_tenant text, p_after bigint, p_topics text[], p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function read_rejected(p_tenant text, p_delivery uuid) returns TABLE(answer jsonb, content bytea), plpgsql, volatile
  grant execute to waybill_data

function read_route(p_tenant text, p_action text) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function read_subscriptions(p_tenant text, p_subscription text, p_after text, p_limit integer) returns SETOF jsonb, sql, stable, security definer
  grant execute to waybill_data

function readmit_delivery(p_tenant text, p_rejected uuid, p_delivery uuid, p_fields jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function receipt_facts(a waybill.actions) returns jsonb, sql, volatile
  grant execute to waybill_data

function receipt_tenants(p_after text, p_limit integer) returns SETOF text, plpgsql, stable
  grant execute to waybill_operations

function receipts_to_prune(p_tenant text, p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function record_conformance(p_connector text, p_version text, p_suite text, p_run integer, p_group text, p_results jsonb) returns boolean, plpgsql, volatile
  grant execute to waybill_operations

function record_outcome(a waybill.actions, t waybill.route_attempts, p_result jsonb, p_bytes bytea, p_receipt jsonb) returns waybill.actions, plpgsql, volatile
  grant execute to waybill_data

function record_outcomes(p_tenant text, p_deliveries uuid[], p_closes jsonb[]) returns void, plpgsql, volatile
  grant execute to waybill_data

function record_result(p_tenant text, p_action text, p_fence bigint, p_result jsonb, p_evidence jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function recovery_status() returns jsonb, sql, stable
  grant execute to waybill_operations

function register_replica(p_replica text, p_request text, p_previous bigint, p_store_epoch text) returns jsonb, plpgsql, volatile
  grant execute to waybill_lifecycle

function release_artifacts(p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function release_gated(p_limit integer, p_gates integer, INOUT after_tenant text, INOUT after_gate text, OUT released integer) returns record, plpgsql, volatile
  grant execute to waybill_operations

function release_quota(p_scope text, p_key text) returns void, sql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function release_shared_quota(p_scope text, p_key text) returns void, sql, volatile, security definer
  grant execute to waybill_data
  grant execute to waybill_operations

function renew_idempotency_key(p_tenant text, p_principal text, p_route text, p_key text, p_claim integer, p_lease_ms integer) returns boolean, plpgsql, volatile
  grant execute to waybill_data

function repin_fault(a waybill.actions, r waybill.routes) returns text, sql, immutable
  grant execute to waybill_data

function replay_delivery(p_tenant text, p_delivery uuid, p_replayed_by text, p_reason text, p_receipt jsonb, p_allowed jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function replay_planned(p_tenant text, p_job uuid, p_position integer, p_by text, p_receipt jsonb, p_watch_ms bigint) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function replay_progress(j waybill.replay_jobs) returns jsonb, sql, volatile
  grant execute to waybill_data

function replay_skipped(p_skipped jsonb) returns integer, sql, immutable
  grant execute to waybill_data

function replay_tenants(p_after text, p_limit integer) returns SETOF text, plpgsql, stable
  grant execute to waybill_operations

function replica_fault(p_tenant text, p_level waybill.bound[], p_topology jsonb) returns jsonb, sql, volatile
  grant execute to waybill_data

function request_cancel(p_tenant text, p_action text, p_by text, p_reason text, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function request_certification(p_tenant text, p_connector text, p_version text, p_suite text, p_wish jsonb) returns jsonb, plpgsql, volatile, security definer
  grant execute to waybill_data

function require_all(p_written integer, p_asked integer) returns void, plpgsql, volatile
  grant execute to waybill_data

function reserve_route(p_tenant text, p_action text, p_request jsonb, p_topology jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function reserved_json(r waybill.routes, t waybill.route_attempts) returns jsonb, sql, volatile
  grant execute to waybill_data

function resolve_action(p_tenant text, p_action text, p_by text, p_answer jsonb, p_result bytea, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function resolve_capability(p_tenant text, p_wanted jsonb) returns jsonb, plpgsql, stable
  grant execute to waybill_data

function retain_actions(p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function retain_deliveries(p_tenant text, p_state text, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function retain_payloads(p_tenant text, p_state text, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function retain_replays(p_tenant text, p_limit integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_operations

function retention_days(p_tenant text, p_what text) returns integer, sql, stable
  grant execute to waybill_operations

function room_turns(p_tenant text, p_target text, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function route_json(r waybill.routes) returns jsonb, sql, stable
  grant execute to waybill_data

function sending_chain(d waybill.deliveries) returns jsonb, sql, volatile
  grant execute to waybill_data

function sending_class(p_operation jsonb) returns text, sql, stable
  grant execute to waybill_data

function sending_doubt(d waybill.deliveries, p_operation jsonb, p_class text, p_config jsonb) returns text, sql, volatile
  grant execute to waybill_data

function sending_pace(d waybill.deliveries, p_chain jsonb, OUT why text, OUT again_ms bigint) returns record, plpgsql, volatile
  grant execute to waybill_data

function sent_as(p_operation jsonb, p_config jsonb) returns bytea, sql, immutable
  grant execute to waybill_data

function sequence_events(p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function served_profiles(p_tenant text, p_capability text) returns text[], sql, stable
  grant execute to waybill_data

function settle_deliveries(p_tenant text, p_state text, p_reason text, p_detail text, p_deliveries uuid[], p_receipts jsonb[]) returns void, plpgsql, volatile
  grant execute to waybill_data

function settle_lost(p_tenant text, p_action text, p_fence bigint, p_evidence jsonb, p_receipt jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function settle_replay(p_tenant text, p_job uuid, p_batch integer, p_stop_after integer) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function settle_route(p_tenant text, p_action text, p_fence bigint, p_settle jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function settle_sink_events(p_tenant text, p_sink text, p_lease_no bigint, p_result jsonb) returns boolean, plpgsql, volatile
  grant execute to waybill_operations

function shared_quota_full(p_scope text, p_key text, p_limit integer) returns boolean, sql, stable, security definer
  grant execute to waybill_data

function signer_counts(p_signer text) returns boolean, sql, stable

function sink_has_work(s waybill.event_sinks) returns boolean, sql, volatile
  grant execute to waybill_operations

function sink_lease_ms(p_timeout_ms integer) returns integer, sql, immutable
  grant execute to waybill_operations

function speaking_evidence(v waybill.connector_versions, p_signers text[]) returns SETOF waybill.evidence_statements, sql, stable
  grant execute to waybill_control

function start_action(p_tenant text, p_action text, p_capability text, p_request bytea, p_fields jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function start_lock(p_tenant text, p_action text) returns bigint, sql, immutable
  grant execute to waybill_data
  grant execute to waybill_operations

function store_rejected(p_tenant text, p_delivery uuid, p_subscription text, p_payload bytea, p_fields jsonb) returns void, plpgsql, volatile
  grant execute to waybill_data

function subject_exists(p_tenant text, p_subject text) returns boolean, sql, stable
  grant execute to waybill_operations

function subscription_turns(p_tenant text, p_subscription text, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function suits(r waybill.replicas, p_topology jsonb) returns boolean, sql, immutable
  grant execute to waybill_data

function switch_subscription(p_tenant text, p_subscription text, p_pause boolean, p_actor text, p_reason text) returns text, plpgsql, volatile
  grant execute to waybill_data

function switch_target(p_tenant text, p_target text, p_pause boolean, p_actor text, p_reason text) returns text, plpgsql, volatile
  grant execute to waybill_data

function take_publication_lock(p_lock text, p_wait_ms integer) returns boolean, plpgsql, volatile
  grant execute to waybill_control

function take_quota(p_scope text, p_key text, p_tenant text, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_data

function take_quotas(p_tenant text, p_capability text, b waybill.bound, p_retry boolean) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function take_rate(p_tenant text, p_instance text, p_rate jsonb) returns void, plpgsql, volatile
  grant execute to waybill_data

function take_shared_quota(p_scope text, p_key text, p_limit integer) returns integer, sql, volatile, security definer
  grant execute to waybill_data

function take_sweep_turn(p_hold_ms integer) returns boolean, plpgsql, volatile
  grant execute to waybill_operations

function take_turns(p_tenant text, p_gate text, p_rate numeric, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function target_gate(d waybill.deliveries, p_target text, p_kind text, p_deadline timestamp with time zone) returns text, plpgsql, volatile
  grant execute to waybill_data

function target_turns(p_tenant text, p_target text, p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function tell_subscription_changed(s waybill.subscriptions) returns void, sql, volatile
  grant execute to waybill_data

function tenant_in_flight(p_tenant text) returns integer, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function try_reserve(a waybill.actions, r waybill.routes, p_level waybill.bound[], p_request jsonb, p_topology jsonb) returns jsonb, plpgsql, volatile
  grant execute to waybill_data

function utc_text(p_at timestamp with time zone) returns text, sql, stable
  grant execute to waybill_data
  grant execute to waybill_operations

function verify_delivery(d waybill.deliveries) returns waybill.deliveries, plpgsql, volatile
  grant execute to waybill_data

function wake_ended(p_limit integer) returns integer, plpgsql, volatile
  grant execute to waybill_operations

function walk_action(a waybill.actions, p_path text[]) returns waybill.actions, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function way_to(p_from text, p_to text) returns text[], sql, immutable
  grant execute to waybill_data

function withdraw_approval() returns trigger, plpgsql, volatile
  grant execute to waybill_data
  grant execute to waybill_operations

function within_budget(d waybill.deliveries, p_profile jsonb) returns jsonb, sql, volatile
  grant execute to waybill_data

function workflow_allowed(p_tenant text, p_target jsonb) returns boolean, sql, stable
  grant execute to waybill_data

function write_progress(a waybill.actions, p_progress jsonb) returns void, sql, volatile
  grant execute to waybill_data
