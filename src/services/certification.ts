/**
 * Certifying a connector version (docs/architecture, "Certification"): the conformance suite against a
 * sandbox's registered host, group by group, and the signed evidence of what came of it.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { ConformanceSetup } from '../conformance/subject';
import { runConformanceGroup } from '../conformance/suite';
import {
  certificationWork,
  concludeCertification,
  recordConformance,
  type CertificationVerdict,
} from '../db/certifications';
import type { Database } from '../db/database';
import type {
  CertificationEnd,
  CertificationFault,
  CertificationRef,
  GroupOutcome,
} from '../domain/certification';
import {
  CONFORMANCE_GROUPS,
  countCases,
  type CaseResult,
  type ConformanceGroup,
} from '../domain/conformance';
import { WaybillError } from '../domain/errors';
import { ROUTE_TOKEN_ISSUER } from '../hosts/protocol/route-tokens';
import { point } from '../points';
import { canonicalJson } from '../schemas/canonical-json';
import type { CertificationWork } from '../schemas/certification-rows';
import { readStatement } from '../schemas/evidence-statements';
import type { ShippedSchemes } from '../schemas/shipped-schemes';
import { shippedVectors } from '../schemas/shipped-vectors';
import { signStatement } from '../signing/evidence/sign';
import { generateKeyText, importSigningKey, type SigningKey } from '../signing/keys';

export interface CertificationServices {
  readonly operations: Database;
  /** Hosts believe tokens of it, and it signs the evidence. */
  readonly signingKey: SigningKey;
  /** The database's clock. */
  readonly nowMs: () => number;
  readonly shippedSchemes: () => ShippedSchemes;
}

type DueWork = Extract<CertificationWork, { answer: 'due' }>;

/** Tries a group, unless it was; a group that nothing can be tried of has no cases. */
export async function tryConformanceGroup(
  services: CertificationServices,
  { group, ...ref }: CertificationRef & { readonly group: ConformanceGroup },
  signal: AbortSignal,
): Promise<GroupOutcome> {
  const work = await certificationWork(services.operations, ref);
  if (work.answer === 'over') return { kind: 'over' };
  if (work.answer === 'unfit') return { kind: 'unfit', why: UNFIT[work.why] };
  const known = work.results[group];
  if (known !== undefined) return tried(known);
  const needsHost = work.manifestDigest !== null && group !== 'webhooks';
  if (needsHost && work.host === null) return { kind: 'no_host', instanceId: work.instanceId };
  const empty = work.manifestDigest === null && group !== 'webhooks';
  const setup = empty ? null : await setupOf(services, work, { ref, signal });
  const results = setup === null ? [] : await runConformanceGroup(group, setup);
  await point('certification.tried');
  const counts = await recordConformance(services.operations, ref, group, results);
  return counts ? tried(results) : { kind: 'over' };
}

/** Judges what was tried: evidence where every group was, a case passed, and none failed. */
export async function judgeCertification(
  services: CertificationServices,
  { reason, ...ref }: CertificationRef & { readonly reason: string | null },
): Promise<CertificationEnd> {
  const work = await certificationWork(services.operations, ref);
  if (work.answer === 'over') return { state: 'over' };
  if (work.answer === 'unfit') {
    const why = reason ?? UNFIT[work.why];
    return await conclude(services, ref, { end: { verdict: 'failed', reason: why }, report: null });
  }
  const cases = CONFORMANCE_GROUPS.flatMap((group) => work.results[group] ?? []);
  const complete = CONFORMANCE_GROUPS.every((group) => work.results[group] !== undefined);
  const counts = countCases(cases);
  const idle = complete && counts.failed === 0 && counts.passed === 0;
  const why = reason ?? (idle ? 'no case of the suite could be tried' : null);
  const passed = why === null && complete && counts.failed === 0;
  const report = passed ? reportOf(services, ref, work, cases) : null;
  const end: CertificationVerdict =
    report === null
      ? { verdict: 'failed', reason: why }
      : { verdict: 'passed', evidence: await evidenceOf(services, ref, { work, report }) };
  await point('certification.judged');
  return await conclude(services, ref, { end, report });
}

interface Conclusion {
  readonly end: CertificationVerdict;
  readonly report: Buffer | null;
}

/** What has passed meanwhile may not pass any more: then it fails for that. */
async function conclude(
  services: CertificationServices,
  ref: CertificationRef,
  { end, report }: Conclusion,
): Promise<CertificationEnd> {
  const state = await concludeCertification(services.operations, ref, end, report);
  switch (state) {
    case 'busy':
      throw new WaybillError('publication_busy');
    case 'revoked':
    case 'unknown_instance':
    case 'connector_disabled':
    case 'instance_serves':
    case 'untrusted_signer': {
      const failed = { verdict: 'failed', reason: UNFIT[state] } as const;
      return await conclude(services, ref, { end: failed, report: null });
    }
    case 'over':
    case 'passed':
    case 'failed':
    case 'running':
      return { state };
  }
}

const UNFIT: Readonly<Record<CertificationFault | 'untrusted_signer', string>> = {
  revoked: 'the version was revoked meanwhile',
  unknown_instance: 'the sandbox is no enabled instance of this version any more',
  connector_disabled: 'the connector is not enabled: it starts nothing',
  instance_serves: 'the sandbox has an enabled binding: it serves',
  untrusted_signer: 'the settings do not trust the key of this deployment any more',
};

function tried(results: readonly CaseResult[]): GroupOutcome {
  const failed = results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
  return { kind: 'tried', counts: countCases(results), failed };
}

async function setupOf(
  { signingKey, nowMs, shippedSchemes }: CertificationServices,
  work: DueWork,
  { ref, signal }: { readonly ref: CertificationRef; readonly signal: AbortSignal },
): Promise<ConformanceSetup> {
  const { connectorId, version } = ref;
  const { host, webhookScheme: scheme, cases } = work;
  return {
    subject: {
      ...(host ?? NO_HOST),
      ...{ tenantId: work.tenantId, connectorId, version, instanceId: work.instanceId },
      credentialRevision: work.credential ?? 'none',
      manifestDigest: work.manifestDigest ?? '',
    },
    ...{ issuer: ROUTE_TOKEN_ISSUER, key: signingKey, lifecycle: null },
    strangerKey: await importSigningKey(await generateKeyText()),
    cases: cases.requests,
    contracts: work.contracts,
    webhooks:
      scheme === null
        ? null
        : { scheme, vectors: [...shippedVectors(scheme, shippedSchemes()), ...cases.vectors] },
    // Another one for each try: what the one before has begun is another action.
    seed: [connectorId, version, ref.suiteVersion, ref.run, randomUUID()].join('/'),
    ...{ nowMs, signal },
  };
}

/** Of a version that has no hosts nothing is called. */
const NO_HOST = {
  ...({ replicaId: 'none', endpoint: '', transportProfile: 'https', peerDid: '' } as const),
  ...{ incarnation: 0, storeEpoch: '' },
};

/** The one document of the evidence, as bytes: the same for the same results. */
function reportOf(
  { nowMs }: CertificationServices,
  { connectorId, version, suiteVersion, run }: CertificationRef,
  work: DueWork,
  cases: readonly CaseResult[],
): Buffer {
  const { artifactDigest, manifestDigest, instanceId, host, requestedBy, requestedAt } = work;
  const text = canonicalJson({
    ...{ kind: 'waybill-conformance-report', v: 1, suiteVersion, run, connectorId, version },
    ...{ artifactDigest, manifestDigest, requestedBy, requestedAt },
    sandbox: { tenantId: work.tenantId, instanceId, replicaId: host?.replicaId ?? null },
    requestsDigest: sha256(canonicalJson(work.cases)),
    ...{ counts: countCases(cases), cases, judgedAt: new Date(nowMs()).toISOString() },
  });
  return Buffer.from(text, 'utf8');
}

async function evidenceOf(
  { signingKey, nowMs }: CertificationServices,
  { connectorId, version }: CertificationRef,
  { work, report }: { readonly work: DueWork; readonly report: Buffer },
) {
  const contentDigest = sha256(report);
  const issuedAt = new Date(nowMs());
  const { artifactDigest, manifestDigest, tenantId } = work;
  const claims = {
    ...({ v: 1, connector: connectorId, version, kind: 'conformance', verdict: 'pass' } as const),
    ...{ artifactDigest, manifestDigest, contentDigest },
    contentRef: `artifact:${tenantId}/${contentDigest}`,
    ...{ issuedAt: issuedAt.toISOString(), expiresAt: null },
  };
  const jws = await signStatement(claims, signingKey);
  const read = readStatement(jws);
  if ('problem' in read) throw new WaybillError('internal', read.problem);
  // Of what it says: statements that were taken over from another deployment are other ones.
  const name = sha256(Buffer.from(jws)).slice(0, 32);
  return {
    ...{ id: `conformance-${name}`, connector: connectorId, version, kind: claims.kind },
    ...{ artifactDigest, manifestDigest, contentDigest, contentRef: claims.contentRef },
    ...{ verdict: claims.verdict, signer: read.signer, issuedAtMs: issuedAt.getTime() },
    ...{ expiresAtMs: null, statement: jws },
  };
}

function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}
