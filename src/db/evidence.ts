/** Evidence statements: reading what counts, adding to it, and projecting what follows for versions. */
import type { VersionKey } from '../schemas/catalog-rows';
import { EvidenceRow } from '../schemas/catalog-rows';
import type { Run, Statement } from './database';

const COLUMNS = `e.evidence_id as id, e.connector_id as connector, e.version, e.kind,
        e.artifact_digest as "artifactDigest", e.manifest_digest as "manifestDigest",
        e.content_digest as "contentDigest", e.content_ref as "contentRef", e.verdict, e.signer,
        (extract(epoch from e.issued_at) * 1000)::bigint as "issuedAtMs",
        (extract(epoch from e.expires_at) * 1000)::bigint as "expiresAtMs", e.statement`;

export const evidenceStatements = {
  named: {
    name: 'evidence_named',
    text: `select ${COLUMNS} from waybill.evidence_statements e
      where e.evidence_id = any ($1::text[])`,
  },
  speaking: {
    name: 'evidence_speaking',
    text: `select ${COLUMNS} from waybill.connector_versions v
      cross join lateral waybill.speaking_evidence(v, $3) e
      where (v.connector_id, v.version) in (select * from unnest($1::text[], $2::text[]))`,
  },
  // A statement that is there is never touched.
  add: {
    name: 'evidence_add',
    text: `insert into waybill.evidence_statements (evidence_id, connector_id, version, kind,
        artifact_digest, manifest_digest, content_digest, content_ref, verdict, signer, issued_at,
        expires_at, statement)
      select id, connector, version, kind, "artifactDigest", "manifestDigest", "contentDigest",
          "contentRef", verdict, signer, to_timestamp("issuedAtMs" / 1000.0),
          to_timestamp("expiresAtMs" / 1000.0), statement
        from jsonb_to_recordset($1) as r(id text, connector text, version text, kind text,
          "artifactDigest" text, "manifestDigest" text, "contentDigest" text, "contentRef" text,
          verdict text, signer text, "issuedAtMs" numeric, "expiresAtMs" numeric, statement text)`,
  },
  project: {
    name: 'evidence_project',
    text: `select waybill.project_evidence($1, $2)`,
  },
} as const satisfies Record<string, Statement>;

/** Those of these ids. */
export async function readEvidence(run: Run, ids: readonly string[]): Promise<EvidenceRow[]> {
  const rows = await run(evidenceStatements.named, [ids]);
  return rows.map((row) => EvidenceRow.parse(row));
}

/**
 * Of each of these versions and each kind the statement that counts.
 * @param signers public keys (base64url) that are trusted; null: anybody's
 */
export async function readSpeakingEvidence(
  run: Run,
  versions: readonly VersionKey[],
  signers: readonly string[] | null,
): Promise<EvidenceRow[]> {
  const rows = await run(evidenceStatements.speaking, [...columns(versions), signers]);
  return rows.map((row) => EvidenceRow.parse(row));
}

/** Adds statements of versions that are there. */
export async function writeEvidence(run: Run, rows: readonly EvidenceRow[]): Promise<void> {
  if (rows.length > 0) await run(evidenceStatements.add, [JSON.stringify(rows)]);
}

/** Settles until when these versions have what is required of them; null: all there are. */
export async function projectEvidence(
  run: Run,
  versions: readonly VersionKey[] | null,
): Promise<void> {
  const values = versions === null ? [null, null] : columns(versions);
  await run(evidenceStatements.project, values);
}

function columns(versions: readonly VersionKey[]): [string[], string[]] {
  return [versions.map(({ connector }) => connector), versions.map(({ version }) => version)];
}
