-- Supply-chain evidence of connector versions: signed statements that are only ever added, the
-- deployment's policy of which kinds are required, and until when each version has them. The last is
-- a projection, written by a publication and compared with the clock at every reservation.

alter table waybill.settings
  add column required_evidence text[] not null default '{}' check (required_evidence <@ array[
    'signature', 'sbom', 'provenance', 'conformance', 'vulnerability', 'licence']),
  -- {name: {"kty", "crv", "x"}}; null: whoever signed, counts.
  add column trusted_signers jsonb
    check (trusted_signers is null or jsonb_typeof(trusted_signers) = 'object');

alter table waybill.connector_versions
  -- SHA-256 (hex) of what its hosts run; null: nothing can vouch for this version.
  add column artifact_digest text check (artifact_digest ~ '^[0-9a-f]{64}$'),
  -- infinity: nothing is required, or it never expires; -infinity: something is missing.
  add column evidence_until timestamptz not null default 'infinity';

create table waybill.evidence_statements (
  evidence_id text primary key,
  connector_id text not null,
  version text not null,
  kind text not null check (kind in ('signature', 'sbom', 'provenance', 'conformance',
    'vulnerability', 'licence', 'revocation')),
  -- What it was said of; the version's own ones when it was published.
  artifact_digest text not null check (artifact_digest ~ '^[0-9a-f]{64}$'),
  manifest_digest text check (manifest_digest ~ '^[0-9a-f]{64}$'),
  -- SHA-256 (hex) of the document behind the statement, and where that is kept.
  content_digest text not null check (content_digest ~ '^[0-9a-f]{64}$'),
  content_ref text check (length(content_ref) between 1 and 1000),
  verdict text not null check (verdict in ('pass', 'fail')),
  -- The Ed25519 public key (base64url) that signed it.
  signer text not null,
  issued_at timestamptz not null,
  -- null: never.
  expires_at timestamptz check (expires_at > issued_at),
  -- The compact JWS that says all of the above.
  statement text not null check (length(statement) <= 16384),
  foreign key (connector_id, version) references waybill.connector_versions,
  check (kind <> 'revocation' or verdict = 'fail')
);
create index evidence_by_version on waybill.evidence_statements
  (connector_id, version, kind, issued_at desc);

-- Of each kind the statement that counts: the newest one by a trusted signer (null: by anybody) that
-- binds the version's digests. Of two of one instant the worse.
create function waybill.speaking_evidence(v waybill.connector_versions, p_signers text[])
returns setof waybill.evidence_statements language sql stable
begin atomic
  select distinct on (e.kind) e.* from waybill.evidence_statements e
    where e.connector_id = v.connector_id and e.version = v.version
      and e.artifact_digest = v.artifact_digest
      and e.manifest_digest is not distinct from v.manifest_digest
      and (p_signers is null or e.signer = any (p_signers))
    order by e.kind, e.issued_at desc, e.verdict, e.expires_at, e.evidence_id;
end;

-- Until when a version has all that the policy requires.
create function waybill.evidence_until(v waybill.connector_versions, s waybill.settings)
returns timestamptz language sql stable
  return (select coalesce(min(case e.verdict when 'pass' then coalesce(e.expires_at, 'infinity')
      else '-infinity' end), 'infinity')
    from unnest(s.required_evidence) k (kind)
    left join lateral waybill.speaking_evidence(v, case when s.trusted_signers is not null then
      array(select t.value->>'x' from jsonb_each(s.trusted_signers) t) end) e on e.kind = k.kind);

-- Writes that down for the versions of these keys; null: for all of them.
create function waybill.project_evidence(p_connectors text[], p_versions text[]) returns void
  language sql
begin atomic
  update waybill.connector_versions v set evidence_until = p.until
    from (select w.connector_id, w.version, waybill.evidence_until(w, s) as until
      from waybill.connector_versions w cross join waybill.settings s
      where p_connectors is null
        or (w.connector_id, w.version) in (select * from unnest(p_connectors, p_versions))) p
    where v.connector_id = p.connector_id and v.version = p.version
      and v.evidence_until <> p.until;
end;

-- As before, and evidence counts as missing from the instant at which it expires.
create or replace function waybill.binding_chain(p_tenant text, p_capability text)
returns waybill.bound[] language sql stable
  return array(select row(b.instance_id, i.connector_id, i.version, v.manifest_digest, b.priority,
      b.spill, b.spread, b.policy_revision, b.credential_revision, b.quota_policy_id, v.rate_limit,
      case
        when not b.enabled then 'binding_disabled'
        when i.status <> 'enabled' then 'instance_disabled'
        when c.enabled is not true then 'connector_disabled'
        -- A deprecated version keeps serving the bindings it has.
        when v.status is null or v.status not in ('active', 'deprecated') then 'version_not_active'
        when v.evidence_until <= clock_timestamp() then 'evidence_expired'
        when v.manifest_digest is null or o.capability_id is null then 'capability_not_offered'
        when k.status is distinct from 'active' then 'credential_revoked'
      end)::waybill.bound
    from waybill.bindings b
    join waybill.instances i on i.tenant_id = b.tenant_id and i.instance_id = b.instance_id
    left join waybill.connectors c on c.connector_id = i.connector_id
    left join waybill.connector_versions v on v.connector_id = i.connector_id and v.version = i.version
    left join waybill.version_capabilities o on o.connector_id = i.connector_id
      and o.version = i.version and o.capability_id = b.capability_id
    left join waybill.credential_revisions k on k.tenant_id = b.tenant_id
      and k.instance_id = b.instance_id and k.credential_revision = b.credential_revision
    where b.tenant_id = p_tenant and b.capability_id = p_capability
    order by b.priority, b.instance_id limit 64);

-- As before, with the evidence of the pinned version.
create or replace function waybill.reacquire_route(r waybill.routes, p_request jsonb) returns jsonb
  language plpgsql as $$
declare
  x waybill.replicas;
  b waybill.bound;
  v_usual text := current_setting('lock_timeout');
begin
  select i.instance_id, r.connector_id, r.version, r.manifest_digest, n.priority, n.spill, n.spread,
      n.policy_revision, r.credential_revision, n.quota_policy_id, v.rate_limit, case
        when n.instance_id is null then 'no_binding'
        when not n.enabled then 'binding_disabled'
        when i.status is distinct from 'enabled' then 'instance_disabled'
        when c.enabled is not true then 'connector_disabled'
        when v.status is null or v.status not in ('active', 'deprecated') then 'version_not_active'
        when v.evidence_until <= clock_timestamp() then 'evidence_expired'
        when k.status is distinct from 'active' then 'credential_revoked' end
    into b from (select) one
    left join waybill.bindings n on n.tenant_id = r.tenant_id
      and n.capability_id = r.capability_id and n.instance_id = r.instance_id
    left join waybill.instances i on i.tenant_id = r.tenant_id and i.instance_id = r.instance_id
    left join waybill.connectors c on c.connector_id = r.connector_id
    left join waybill.connector_versions v on v.connector_id = r.connector_id and v.version = r.version
    left join waybill.credential_revisions k on k.tenant_id = r.tenant_id
      and k.instance_id = r.instance_id and k.credential_revision = r.credential_revision;
  if b.fault is not null then
    return jsonb_build_object('kind', 'binding_unavailable', 'why', b.fault);
  end if;
  perform set_config('lock_timeout', '1000', true);
  select * into x from waybill.replicas where replica_id = r.replica_id and version = r.version
    and status in ('ready', 'draining') for update;
  perform set_config('lock_timeout', v_usual, true);
  if x.replica_id is not null
     and waybill.has_room(x, (select circuit_probes from waybill.settings)) then
    r.fence := waybill.fence_after(r.fence, (p_request->>'aboveFence')::bigint);
    return waybill.reserved_json(r, waybill.open_reservation(r, x, b, p_request));
  end if;
  return jsonb_build_object('kind', 'replica_unavailable', 'why', 'pinned_unavailable', 'retryInMs', 1000);
end
$$;

-- As before, of versions that have the evidence that is required of them.
create or replace function waybill.offered_profiles(p_capability text) returns text[]
  language sql stable
  return (select case when count(*) > 0 then coalesce(array_agg(distinct p.name collate "C")
        filter (where p.name is not null), '{}') end
    from waybill.version_capabilities o
    join waybill.connectors c on c.connector_id = o.connector_id and c.enabled
    join waybill.connector_versions v on v.connector_id = o.connector_id and v.version = o.version
      and v.status = 'active' and v.evidence_until > clock_timestamp()
    left join lateral unnest(v.profiles) as p (name) on true
    where o.capability_id = p_capability);

-- A statement is visible to whom its connector is; nobody changes or removes one.
alter table waybill.evidence_statements enable row level security;
create policy with_its_connector on waybill.evidence_statements to waybill_data, waybill_observer
  using (exists (select from waybill.connectors c
    where c.connector_id = evidence_statements.connector_id));
create policy across_tenants on waybill.evidence_statements to waybill_operations, waybill_control
  using (true);
grant select on waybill.evidence_statements
  to waybill_control, waybill_data, waybill_operations, waybill_observer;
grant insert on waybill.evidence_statements to waybill_control;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.speaking_evidence(waybill.connector_versions, text[]),
  waybill.evidence_until(waybill.connector_versions, waybill.settings),
  waybill.project_evidence(text[], text[])
  to waybill_control;
