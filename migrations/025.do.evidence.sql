-- Supply-chain evidence of connector versions: signed statements that are only ever added, the
-- deployment's policy of which kinds are required, and until when each version has them. The last is
-- a projection, written by a publication and compared with the clock at every reservation.

alter table waybill.settings
  -- A version is active only once it has passed the conformance suite, unless the settings say otherwise.
  add column required_evidence text[] not null default '{conformance}' check (required_evidence <@ array[
    'signature', 'sbom', 'provenance', 'conformance', 'vulnerability', 'licence']),
  -- {name: {"kty", "crv", "x"}}; null: whoever signed, counts.
  add column trusted_signers jsonb
    check (trusted_signers is null or jsonb_typeof(trusted_signers) = 'object');

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
-- Whether bytes are what a statement is about.
create index evidence_by_content on waybill.evidence_statements (content_ref) where content_ref is not null;

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
grant update (evidence_until) on waybill.connector_versions to waybill_control;

revoke execute on all functions in schema waybill from public;
grant execute on function waybill.current_tenant() to public;
grant execute on function
  waybill.speaking_evidence(waybill.connector_versions, text[]),
  waybill.evidence_until(waybill.connector_versions, waybill.settings),
  waybill.project_evidence(text[], text[])
  to waybill_control;
