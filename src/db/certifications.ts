/** Certifications in Postgres: asking for one, what it is about, what came of it. */
import type { CertificationRef } from '../domain/certification';
import type { CaseResult, ConformanceGroup } from '../domain/conformance';
import type { TenantId } from '../domain/ids';
import type { EvidenceRow } from '../schemas/catalog-rows';
import {
  CertificationConcluded,
  CertificationRow,
  CertificationWork,
  RequestCertificationAnswer,
} from '../schemas/certification-rows';
import type { CertificationCases } from '../schemas/conformance';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const certificationStatements = {
  request: {
    name: 'certification_request',
    text: 'select waybill.request_certification($1, $2, $3, $4, $5) as answer',
  },
  read: {
    name: 'certification_read',
    text: 'select waybill.read_certification($1, $2, $3) as answer',
  },
  report: {
    name: 'certification_report',
    text: 'select waybill.read_certification_report($1, $2, $3) as answer',
  },
  work: {
    name: 'certification_work',
    text: 'select waybill.certification_work($1, $2, $3, $4) as answer',
  },
  record: {
    name: 'certification_record',
    text: 'select waybill.record_conformance($1, $2, $3, $4, $5, $6) as answer',
  },
  conclude: {
    name: 'certification_conclude',
    text: 'select waybill.conclude_certification($1, $2, $3, $4, $5, $6) as answer',
  },
} as const satisfies Record<string, Statement>;

export interface CertificationWish {
  readonly instance: string;
  readonly by: string;
  /** The public key (base64url) that a statement would be signed with. */
  readonly signer: string;
  readonly cases: CertificationCases;
}

/** Starts a run, or tells of the one that is under way or has passed; see the function. */
export async function requestCertification(
  db: Database,
  tenantId: TenantId,
  { connectorId, version, suiteVersion }: Omit<CertificationRef, 'run'>,
  wish: CertificationWish,
): Promise<RequestCertificationAnswer> {
  const values = [tenantId, connectorId, version, suiteVersion, JSON.stringify(wish)];
  return RequestCertificationAnswer.parse(await ask(db, certificationStatements.request, values));
}

/** The newest of a version; null where there is none that the tenant may see. */
export async function readCertification(
  db: Database,
  tenantId: TenantId,
  { connectorId, version }: Pick<CertificationRef, 'connectorId' | 'version'>,
): Promise<CertificationRow | null> {
  const answer = await ask(db, certificationStatements.read, [tenantId, connectorId, version]);
  return CertificationRow.nullable().parse(answer);
}

/** The bytes whose digest its evidence names; null where the tenant's sandbox made none. */
export async function readCertificationReport(
  db: Database,
  tenantId: TenantId,
  { connectorId, version }: Pick<CertificationRef, 'connectorId' | 'version'>,
): Promise<Buffer | null> {
  const values = [tenantId, connectorId, version];
  const content = await ask(db, certificationStatements.report, values);
  return Buffer.isBuffer(content) ? content : null;
}

export async function certificationWork(
  db: Database,
  ref: CertificationRef,
): Promise<CertificationWork> {
  return CertificationWork.parse(await ask(db, certificationStatements.work, keys(ref)));
}

/** Answers whether the run is still under way. */
export async function recordConformance(
  db: Database,
  ref: CertificationRef,
  group: ConformanceGroup,
  results: readonly CaseResult[],
): Promise<boolean> {
  const values = [...keys(ref), group, JSON.stringify(results)];
  return (await ask(db, certificationStatements.record, values)) === true;
}

export type CertificationVerdict =
  | { readonly verdict: 'failed'; readonly reason: string | null }
  | { readonly verdict: 'passed'; readonly evidence: EvidenceRow };

/**
 * Ends the run, in one transaction with its evidence; `busy` while somebody publishes. Why it may not pass
 * is answered with nothing written.
 */
export async function concludeCertification(
  db: Database,
  ref: CertificationRef,
  end: CertificationVerdict,
  report: Uint8Array | null,
): Promise<CertificationConcluded> {
  const values = [...keys(ref), JSON.stringify(end), report];
  return CertificationConcluded.parse(await ask(db, certificationStatements.conclude, values));
}

function keys({ connectorId, version, suiteVersion, run }: CertificationRef): unknown[] {
  return [connectorId, version, suiteVersion, run];
}

async function ask(
  db: Database,
  statement: Statement,
  values: readonly unknown[],
): Promise<unknown> {
  return onlyRow(await db.query(statement, values))['answer'];
}
