/** What Postgres answers about certifications. */
import { z } from 'zod';
import { CERTIFICATION_FAULTS, CERTIFICATION_STATES } from '../domain/certification';
import { CASE_VERDICTS, CONFORMANCE_GROUPS } from '../domain/conformance';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import { TRANSPORTS } from '../domain/routes';
import { CertificationCases } from './conformance';
import { WebhookScheme } from './webhook-schemes';

export const CaseResultRow = z.object({
  id: z.string(),
  group: z.enum(CONFORMANCE_GROUPS),
  rule: z.string(),
  verdict: z.enum(CASE_VERDICTS),
  why: z.string().nullable(),
  startedAtMs: z.number(),
  durationMs: z.number(),
  exchanges: z.array(z.object({ sent: z.string(), cameBack: z.string() })),
});

const Results = z.partialRecord(z.enum(CONFORMANCE_GROUPS), z.array(CaseResultRow));

export const CertificationRow = z.object({
  connectorId: z.string(),
  version: z.string(),
  suiteVersion: z.string(),
  state: z.enum(CERTIFICATION_STATES),
  run: z.int(),
  requestedBy: z.string().nullable(),
  requestedAt: z.string(),
  finishedAt: z.string().nullable(),
  reason: z.string().nullable(),
  reportSha256: z.string().nullable(),
  evidenceId: z.string().nullable(),
  statement: z.string().nullable(),
  /** Null, as are who asked, reason and results: another tenant's sandbox. */
  instanceId: z.string().nullable(),
  results: Results.nullable(),
  verdicts: z.partialRecord(z.enum(CONFORMANCE_GROUPS), z.array(z.enum(CASE_VERDICTS))),
});
export type CertificationRow = z.infer<typeof CertificationRow>;

export const RequestCertificationAnswer = z.discriminatedUnion('answer', [
  z.object({
    answer: z.enum(['started', 'running', 'passed']),
    certification: CertificationRow,
  }),
  z.object({
    answer: z.enum([
      ...(['unknown_version', 'nothing_to_try', 'no_artifact', 'untrusted_signer'] as const),
      ...(['busy', ...CERTIFICATION_FAULTS] as const),
    ]),
  }),
]);
export type RequestCertificationAnswer = z.infer<typeof RequestCertificationAnswer>;

export const CertificationWork = z.discriminatedUnion('answer', [
  z.object({ answer: z.literal('over') }),
  z.object({ answer: z.literal('unfit'), why: z.enum(CERTIFICATION_FAULTS) }),
  z.object({
    answer: z.literal('due'),
    tenantId: z.string(),
    instanceId: z.string(),
    cases: CertificationCases,
    results: Results,
    requestedBy: z.string(),
    requestedAt: z.string(),
    artifactDigest: z.string(),
    manifestDigest: z.string().nullable(),
    webhookScheme: WebhookScheme.nullable(),
    contracts: z.array(
      z.object({
        capabilityId: z.string(),
        interfaceName: z.string(),
        sideEffect: z.enum(SIDE_EFFECTS),
        recovery: z.enum(RECOVERIES),
        requestSchema: z.unknown(),
        resultSchema: z.unknown(),
      }),
    ),
    credential: z.string().nullable(),
    host: z
      .object({
        replicaId: z.string(),
        endpoint: z.string(),
        transportProfile: z.enum(TRANSPORTS),
        peerDid: z.string(),
        incarnation: z.number(),
        storeEpoch: z.string(),
      })
      .nullable(),
  }),
]);
export type CertificationWork = z.infer<typeof CertificationWork>;

export const CertificationConcluded = z.enum([
  ...(['over', 'busy', 'passed', 'failed', 'running'] as const),
  ...(['untrusted_signer', ...CERTIFICATION_FAULTS] as const),
]);
export type CertificationConcluded = z.infer<typeof CertificationConcluded>;
