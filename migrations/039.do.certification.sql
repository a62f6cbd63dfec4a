-- Certification of connector versions: which suite a version was put to, on whose sandbox, what every
-- case came to, and the evidence that a passed suite leaves. A version passes one suite once.

create table waybill.certifications (
  connector_id text not null,
  version text not null,
  suite_version text not null,
  state text not null check (state in ('running', 'passed', 'failed')),
  -- Grows with every run: whoever works on an earlier one writes nothing any more.
  run integer not null default 1 check (run >= 1),
  -- Whose sandbox.
  tenant_id text not null,
  instance_id text not null,
  -- {"requests", "vectors", "credential"} of the author. Vectors hold the secrets that they are signed
  -- with, and go with the end of the run.
  cases jsonb not null,
  requested_by text not null,
  requested_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  -- Why it failed where no case says so.
  reason text,
  -- By group: what its cases came to.
  results jsonb not null default '{}',
  -- SHA-256 of the report, an artifact of the sandbox's tenant; and the statement about it.
  report_sha256 bytea check (length(report_sha256) = 32),
  evidence_id text references waybill.evidence_statements,
  primary key (connector_id, version, suite_version),
  foreign key (connector_id, version) references waybill.connector_versions,
  foreign key (tenant_id, instance_id) references waybill.instances,
  check ((state = 'running') = (finished_at is null)),
  check ((state = 'passed') = (evidence_id is not null))
);

-- An instant as it leaves in JSON.
create function waybill.utc_text(p_at timestamptz) returns text language sql stable
  return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"');

-- Whether a connector is the tenant's own, or everybody's: for functions that no policy guards.
create function waybill.connector_is_visible(p_connector text, p_tenant text) returns boolean
  language sql stable
  return exists (select from waybill.connectors n where n.connector_id = p_connector
    and coalesce(n.owner_tenant_id, p_tenant) = p_tenant);

-- As the API shows it. Who asked, on what, and what the cases sent and got is for the sandbox's tenant
-- alone.
create function waybill.certification_shown(c waybill.certifications, p_tenant text) returns jsonb
  language sql stable
  return (select jsonb_build_object('connectorId', c.connector_id, 'version', c.version,
    'suiteVersion', c.suite_version, 'state', c.state, 'run', c.run,
    'requestedBy', case when c.tenant_id = p_tenant then c.requested_by end,
    'requestedAt', waybill.utc_text(c.requested_at), 'finishedAt', waybill.utc_text(c.finished_at),
    'reason', case when c.tenant_id = p_tenant then c.reason end,
    'reportSha256', encode(c.report_sha256, 'hex'), 'evidenceId', c.evidence_id,
    'statement', (select e.statement from waybill.evidence_statements e
      where e.evidence_id = c.evidence_id),
    'instanceId', case when c.tenant_id = p_tenant then c.instance_id end,
    'results', case when c.tenant_id = p_tenant then c.results end,
    'verdicts', (select coalesce(jsonb_object_agg(g.key, (select coalesce(jsonb_agg(r.value->>'verdict'), '[]')
        from jsonb_array_elements(g.value) r)), '{}') from jsonb_each(c.results) g)));

-- Why a version is not put, or not put any longer, to a suite on this instance; null: nothing stands
-- against it. Publications leave an instance alone that is a sandbox of a run, but may revoke and disable.
create function waybill.certification_fault(
  p_tenant text, p_instance text, p_connector text, p_version text
) returns text language sql stable
  return (select case
      when v.status = 'revoked' then 'revoked'
      when i.instance_id is null or i.connector_id <> p_connector or i.version <> p_version
        or i.status <> 'enabled' then 'unknown_instance'
      -- The platform's switch: it starts nothing.
      when not n.enabled then 'connector_disabled'
      -- Real actions would be at the host, and at the provider's account, that the suite plays with.
      when exists (select from waybill.bindings b where b.tenant_id = p_tenant
        and b.instance_id = p_instance and b.enabled) then 'instance_serves' end
    from waybill.connector_versions v join waybill.connectors n using (connector_id)
    left join waybill.instances i on i.tenant_id = p_tenant and i.instance_id = p_instance
    where v.connector_id = p_connector and v.version = p_version);

-- Whether statements of this key count.
create function waybill.signer_counts(p_signer text) returns boolean language sql stable
  return (select s.trusted_signers is null or exists (select from jsonb_each(s.trusted_signers) t
    where t.value->>'x' = p_signer) from waybill.settings s);

-- Asks for a version to be put to a suite. A certification belongs to its version, which may be every
-- tenant's, and its row to the sandbox's tenant: hence the definer, who looks whose the connector is.
-- What has passed stays so while its evidence is by a key that counts. Answers: unknown_version | revoked |
-- nothing_to_try | no_artifact | unknown_instance | connector_disabled | instance_serves |
-- untrusted_signer | busy (somebody publishes) | started | running | passed; the last three with the certification.
create function waybill.request_certification(
  p_tenant text, p_connector text, p_version text, p_suite text, p_wish jsonb
) returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  v waybill.connector_versions;
  c waybill.certifications;
  v_fault text;
begin
  -- Two who ask at once start one run; and who publishes a binding sees the run, or is seen by it.
  if not waybill.take_publication_lock('publisher', 2000) then
    return jsonb_build_object('answer', 'busy');
  end if;
  select * into v from waybill.connector_versions
    where connector_id = p_connector and version = p_version
      and waybill.connector_is_visible(connector_id, p_tenant);
  if not found then return jsonb_build_object('answer', 'unknown_version'); end if;
  select * into c from waybill.certifications
    where connector_id = p_connector and version = p_version and suite_version = p_suite for update;
  if c.state = 'running' or (c.state = 'passed' and exists (select from waybill.evidence_statements e
      where e.evidence_id = c.evidence_id and waybill.signer_counts(e.signer))) then
    return jsonb_build_object('answer', c.state,
      'certification', waybill.certification_shown(c, p_tenant));
  end if;
  if v.status = 'revoked' then return jsonb_build_object('answer', 'revoked'); end if;
  if v.manifest_digest is null and v.webhook_scheme is null then
    return jsonb_build_object('answer', 'nothing_to_try');
  end if;
  if v.artifact_digest is null then return jsonb_build_object('answer', 'no_artifact'); end if;
  v_fault := waybill.certification_fault(p_tenant, p_wish->>'instance', p_connector, p_version);
  if v_fault is not null then return jsonb_build_object('answer', v_fault); end if;
  if not waybill.signer_counts(p_wish->>'signer') then
    return jsonb_build_object('answer', 'untrusted_signer');
  end if;
  insert into waybill.certifications as k (connector_id, version, suite_version, state, tenant_id,
      instance_id, cases, requested_by)
    values (p_connector, p_version, p_suite, 'running', p_tenant, p_wish->>'instance',
            p_wish->'cases', p_wish->>'by')
    on conflict (connector_id, version, suite_version) do update set state = 'running',
      run = k.run + 1, tenant_id = excluded.tenant_id, instance_id = excluded.instance_id,
      cases = excluded.cases, requested_by = excluded.requested_by,
      requested_at = clock_timestamp(), finished_at = null, reason = null, results = '{}',
      report_sha256 = null, evidence_id = null
    returning * into c;
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (p_tenant, c.requested_by, 'connector.certify',
            concat_ws('/', 'connector', p_connector, p_version),
            jsonb_build_object('suiteVersion', p_suite, 'run', c.run, 'instance', c.instance_id));
  return jsonb_build_object('answer', 'started',
    'certification', waybill.certification_shown(c, p_tenant));
end
$$;

-- The newest certification of a version that the tenant may see; null: it has none.
create function waybill.read_certification(p_tenant text, p_connector text, p_version text)
returns jsonb language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select waybill.certification_shown(c, p_tenant) from waybill.certifications c
    where c.connector_id = p_connector and c.version = p_version
      and waybill.connector_is_visible(c.connector_id, p_tenant)
    order by c.requested_at desc limit 1;
end;

-- The bytes of the newest report of a version, for the tenant in whose sandbox it was made; null: there
-- is none for it.
create function waybill.read_certification_report(p_tenant text, p_connector text, p_version text)
returns bytea language sql stable security definer set search_path = pg_catalog, pg_temp
begin atomic
  select r.content from waybill.certifications c
    join waybill.artifacts r on r.tenant_id = c.tenant_id and r.sha256 = c.report_sha256
    where c.connector_id = p_connector and c.version = p_version and c.tenant_id = p_tenant
      and c.state = 'passed' and waybill.connector_is_visible(c.connector_id, p_tenant)
    order by c.finished_at desc limit 1;
end;

-- What a run is about. Answers over (it is not the run that is under way) | unfit, with why (see
-- certification_fault) | due, with the version, the author's cases, the contracts, a credential, and the
-- sandbox's registered host where there is one.
create function waybill.certification_work(
  p_connector text, p_version text, p_suite text, p_run integer
) returns jsonb language plpgsql stable as $$
declare
  c waybill.certifications;
  v waybill.connector_versions;
  v_fault text;
begin
  select * into c from waybill.certifications
    where connector_id = p_connector and version = p_version and suite_version = p_suite;
  if not found or c.state <> 'running' or c.run <> p_run then
    return jsonb_build_object('answer', 'over');
  end if;
  v_fault := waybill.certification_fault(c.tenant_id, c.instance_id, p_connector, p_version);
  if v_fault is not null then return jsonb_build_object('answer', 'unfit', 'why', v_fault); end if;
  select * into v from waybill.connector_versions
    where connector_id = p_connector and version = p_version;
  return jsonb_build_object('answer', 'due', 'tenantId', c.tenant_id, 'instanceId', c.instance_id,
    'cases', c.cases, 'results', c.results, 'requestedBy', c.requested_by,
    'requestedAt', waybill.utc_text(c.requested_at),
    'artifactDigest', v.artifact_digest, 'manifestDigest', v.manifest_digest,
    'webhookScheme', v.webhook_scheme,
    'contracts', (select coalesce(jsonb_agg(jsonb_build_object('capabilityId', k.capability_id,
        'interfaceName', k.interface_name, 'sideEffect', k.side_effect, 'recovery', k.recovery,
        'requestSchema', k.request_schema, 'resultSchema', k.result_schema)), '[]')
      from waybill.version_capabilities o join waybill.capabilities k using (capability_id)
      where o.connector_id = p_connector and o.version = p_version),
    'credential', coalesce(c.cases->>'credential', (select max(r.credential_revision)
      from waybill.credential_revisions r where r.tenant_id = c.tenant_id
        and r.instance_id = c.instance_id and r.status = 'active')),
    'host', (select jsonb_build_object('replicaId', r.replica_id, 'endpoint', r.endpoint,
        'transportProfile', r.transport_profile, 'peerDid', r.peer_did,
        'incarnation', r.incarnation, 'storeEpoch', r.store_epoch)
      from waybill.replicas r where r.tenant_id = c.tenant_id and r.instance_id = c.instance_id
        and r.connector_id = p_connector and r.version = p_version
        and r.status in ('registered', 'ready') and r.lease_ends_at > clock_timestamp()
      order by r.replica_id limit 1));
end
$$;

-- Keeps what a group came to; the first who says so is right. Answers whether the run is under way.
create function waybill.record_conformance(
  p_connector text, p_version text, p_suite text, p_run integer, p_group text, p_results jsonb
) returns boolean language plpgsql as $$
begin
  update waybill.certifications
    set results = jsonb_build_object(p_group, p_results) || results
    where connector_id = p_connector and version = p_version and suite_version = p_suite
      and run = p_run and state = 'running';
  return found;
end
$$;

-- Ends a run. One that passed leaves its report as an artifact, the statement about it, and a version
-- that is certified if it was a draft; the catalog is otherwise control's alone, hence the definer.
-- p_end: {"verdict", "reason"} and of a passed one "evidence". Answers over | busy (somebody publishes)
-- | passed | failed; and where it may not pass any more why, with nothing written: see
-- certification_fault, and untrusted_signer.
create function waybill.conclude_certification(
  p_connector text, p_version text, p_suite text, p_run integer, p_end jsonb, p_report bytea
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  c waybill.certifications;
  e jsonb := p_end->'evidence';
  v_fault text;
begin
  -- Publishers read the versions, and write what follows from them, under this lock.
  if not waybill.take_publication_lock('publisher', 2000) then return 'busy'; end if;
  select * into c from waybill.certifications
    where connector_id = p_connector and version = p_version and suite_version = p_suite for update;
  if not found or c.state <> 'running' or c.run <> p_run then
    return coalesce(case when c.run = p_run then c.state end, 'over');
  end if;
  if p_end->>'verdict' = 'passed' then
    v_fault := coalesce(
      waybill.certification_fault(c.tenant_id, c.instance_id, p_connector, p_version),
      case when not waybill.signer_counts(e->>'signer') then 'untrusted_signer' end);
    if v_fault is not null then return v_fault; end if;
    insert into waybill.artifacts (tenant_id, sha256, content)
      values (c.tenant_id, sha256(p_report), p_report) on conflict do nothing;
    insert into waybill.evidence_statements (evidence_id, connector_id, version, kind, artifact_digest,
        manifest_digest, content_digest, content_ref, verdict, signer, issued_at, statement)
      values (e->>'id', p_connector, p_version, 'conformance', e->>'artifactDigest',
              e->>'manifestDigest', e->>'contentDigest', e->>'contentRef', 'pass', e->>'signer',
              to_timestamp((e->>'issuedAtMs')::numeric / 1000), e->>'statement');
    update waybill.connector_versions set certification_ref = e->>'contentRef',
        status = case status when 'draft' then 'certified' else status end
      where connector_id = p_connector and version = p_version;
    perform waybill.project_evidence(array[p_connector], array[p_version]);
  end if;
  update waybill.certifications set state = p_end->>'verdict', reason = p_end->>'reason',
      finished_at = clock_timestamp(), cases = cases - 'vectors',
      report_sha256 = case p_end->>'verdict' when 'passed' then sha256(p_report) end,
      evidence_id = e->>'id'
    where connector_id = p_connector and version = p_version and suite_version = p_suite;
  insert into waybill.audit_log (tenant_id, actor, action, subject, detail)
    values (c.tenant_id, 'waybill', 'connector.' || (p_end->>'verdict'),
            concat_ws('/', 'connector', p_connector, p_version), jsonb_build_object(
              'suiteVersion', p_suite, 'run', p_run, 'evidenceId', e->>'id',
              'certified', p_end->>'verdict' = 'passed', 'requestedBy', c.requested_by));
  return p_end->>'verdict';
end
$$;

alter table waybill.certifications enable row level security;
create policy one_tenant on waybill.certifications to waybill_data, waybill_observer
  using (tenant_id = waybill.current_tenant());
create policy across_tenants on waybill.certifications to waybill_operations, waybill_control using (true);

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant select on waybill.certifications to waybill_data;
-- A publication has to see which instances are sandboxes now.
grant select (tenant_id, instance_id, state) on waybill.certifications to waybill_control;
create index certifications_under_way on waybill.certifications (tenant_id, instance_id)
  where state = 'running';
grant select, update on waybill.certifications to waybill_operations;
grant select on waybill.certifications to waybill_observer;
grant execute on function waybill.utc_text(timestamptz) to waybill_data, waybill_operations;
grant execute on function
  waybill.request_certification(text, text, text, text, jsonb),
  waybill.read_certification(text, text, text),
  waybill.read_certification_report(text, text, text)
  to waybill_data;
grant execute on function
  waybill.certification_fault(text, text, text, text),
  waybill.certification_work(text, text, text, integer),
  waybill.record_conformance(text, text, text, integer, text, jsonb),
  waybill.conclude_certification(text, text, text, integer, jsonb, bytea)
  to waybill_operations;

-- Descriptors that the tenant may see, by connector and version. p_filter: {"connectorId", "state"};
-- p_after: [connector, version] of the last one before.
create function waybill.connector_page(p_tenant text, p_filter jsonb, p_after jsonb, p_limit integer)
returns setof jsonb language plpgsql as $$
begin
  perform set_config('waybill.tenant', p_tenant, true);
  return query
    select jsonb_build_object('connectorId', v.connector_id, 'version', v.version,
        'tenantId', coalesce(n.owner_tenant_id, '_platform'), 'name', n.name, 'provider', n.provider,
        'enabled', n.enabled, 'state', v.status, 'adapterRef', v.adapter_ref,
        'retryProfile', v.retry_profile, 'rateLimitProfile', v.rate_limit,
        'webhookScheme', v.webhook_scheme, 'configurationForm', v.configuration_form,
        'certificationRef', v.certification_ref, 'releaseId', v.release_id,
        'artifactDigest', v.artifact_digest, 'manifestDigest', v.manifest_digest,
        'profiles', to_jsonb(v.profiles), 'capabilities', k.interfaces, 'capabilityIds', k.ids,
        'certification', (select jsonb_build_object('suiteVersion', c->'suiteVersion',
            'state', c->'state', 'evidenceId', c->'evidenceId')
          from waybill.read_certification(p_tenant, v.connector_id, v.version) c where c is not null))
      from waybill.connector_versions v join waybill.connectors n using (connector_id)
      cross join lateral (select coalesce(jsonb_agg(distinct p.interface_name), '[]') as interfaces,
          coalesce(jsonb_agg(o.capability_id order by o.capability_id collate "C"), '[]') as ids
        from waybill.version_capabilities o join waybill.capabilities p using (capability_id)
        where o.connector_id = v.connector_id and o.version = v.version) k
      where (p_after is null or (v.connector_id collate "C", v.version collate "C")
          > ((p_after->>0) collate "C", (p_after->>1) collate "C"))
        and (p_filter->>'connectorId' is null or v.connector_id = p_filter->>'connectorId')
        and (p_filter->>'state' is null or v.status = p_filter->>'state')
      order by v.connector_id collate "C", v.version collate "C" limit p_limit;
end
$$;

revoke execute on function waybill.connector_page(text, jsonb, jsonb, integer) from public;
grant execute on function waybill.connector_page(text, jsonb, jsonb, integer) to waybill_data;
