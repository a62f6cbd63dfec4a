/** Connector versions, and their certification, as the API shows them. */
import { z } from 'zod';
import { CERTIFICATION_STATES } from '../domain/certification';
import { CASE_VERDICTS, CONFORMANCE_GROUPS } from '../domain/conformance';
import { CONNECTOR_STATUSES } from '../domain/connector-states';
import { Answered, pageFields, paging } from './api-common';
import { ConformanceCases } from './conformance';
import { faultless, jsonFault } from './fleet/json-values';
import { Version } from './fleet/texts';
import { Name } from './names';
import { VectorVendor } from './webhook-vectors';

export const ConnectorQuery = z.strictObject({
  connectorId: Name.optional().describe('The versions of this one alone.'),
  state: z.enum(CONNECTOR_STATUSES).optional(),
});
export const ListConnectorsQuery = ConnectorQuery.extend(paging);

export const ConnectorDescriptor = z
  .object({
    connectorId: z.string(),
    version: z.string(),
    tenantId: z.string().describe('Whose it is; `_platform`: for every tenant.'),
    name: z.string(),
    provider: z.string(),
    enabled: z.boolean(),
    state: z.enum(CONNECTOR_STATUSES),
    capabilities: z.array(z.string()).describe('The interfaces that it implements.'),
    capabilityIds: z.array(z.string()),
    adapterRef: z.unknown().describe('Kind, name and version of what acts at the provider.'),
    retryProfile: z.unknown(),
    rateLimitProfile: z.unknown(),
    webhookScheme: z.unknown().describe('Null: it receives no webhooks.'),
    configurationForm: z.unknown().describe("JSON Schema of an instance's config."),
    certificationRef: z.string().nullable().describe('Where the report of its certification is.'),
    releaseId: z.string().nullable(),
    artifactDigest: z.string().nullable(),
    manifestDigest: z.string().nullable(),
    profiles: z.array(z.string()),
    certification: z
      .object({
        suiteVersion: z.string(),
        state: z.enum(CERTIFICATION_STATES),
        evidenceId: z.string().nullable(),
      })
      .nullable()
      .describe('The newest one.'),
  })
  .meta({ id: 'ConnectorDescriptor' });
export type ConnectorDescriptor = z.infer<typeof ConnectorDescriptor>;

export const ConnectorPage = z
  .object({
    view: pageFields.view,
    connectors: z.array(ConnectorDescriptor).describe('By connector and version.'),
    nextCursor: pageFields.nextCursor,
  })
  .meta({ id: 'ConnectorPage' });
export type ConnectorPage = z.infer<typeof ConnectorPage>;

export const ConnectorParams = z.strictObject({ connectorId: Name });
export const CertificationParams = z.strictObject({ connectorId: Name, version: Version });

export const CertifyBody = faultless(
  z.strictObject({
    version: Version,
    instance: Name.describe(
      "The sandbox: an enabled instance of the token's tenant, of this version.",
    ),
    credential: Name.optional().describe('A credential revision of it; its newest without it.'),
    requests: ConformanceCases.optional().describe('Requests for its capabilities.'),
    vectors: z.array(VectorVendor).max(20).optional().describe('Requests for its webhook scheme.'),
  }),
  (body) => jsonFault(body),
);

export const CertificationCase = z.object({
  id: z.string(),
  group: z.enum(CONFORMANCE_GROUPS),
  verdict: z.enum(CASE_VERDICTS),
  rule: z.string(),
  why: z.string().nullable(),
  durationMs: z.number(),
  exchanges: z
    .array(z.object({ sent: z.string(), cameBack: z.string() }))
    .describe('Of a case that failed: what was sent and what came back, the newest last.'),
});

export const Certification = z
  .object({
    connectorId: z.string(),
    version: z.string(),
    suiteVersion: z.string(),
    state: z.enum(CERTIFICATION_STATES),
    run: z.int().describe('Grows when a failed one is asked for again.'),
    requestedBy: z.string().nullable().describe('Null, as `reason`: of another tenant.'),
    requestedAt: Answered,
    finishedAt: Answered.nullable(),
    reason: z.string().nullable().describe('Why it failed where no case says so.'),
    counts: z.object({ passed: z.int(), failed: z.int(), skipped: z.int() }),
    groups: z.array(z.enum(CONFORMANCE_GROUPS)).describe('That were tried.'),
    evidenceId: z.string().nullable(),
    statement: z
      .string()
      .nullable()
      .describe(
        'The evidence: a signed statement (JWS) whose contentDigest is that of the report.',
      ),
    reportSha256: z.string().nullable().describe('SHA-256 of the report, an artifact.'),
    instanceId: z.string().nullable().describe("Null: another tenant's sandbox."),
    cases: z.array(CertificationCase).nullable().describe("Null: another tenant's sandbox."),
    workflowId: z.string(),
    workflowUrl: z.string().nullable(),
  })
  .meta({ id: 'Certification' });
export type Certification = z.infer<typeof Certification>;

/** The document that a certification's evidence is about; what it says more is for people. */
export const ConformanceReport = z
  .looseObject({
    kind: z.literal('waybill-conformance-report'),
    v: z.literal(1),
    suiteVersion: z.string(),
    connectorId: z.string(),
    version: z.string(),
    counts: z.object({ passed: z.int(), failed: z.int(), skipped: z.int() }),
    cases: z.array(z.looseObject({ id: z.string(), verdict: z.enum(CASE_VERDICTS) })),
  })
  .meta({ id: 'ConformanceReport' });
export type ConformanceReport = z.infer<typeof ConformanceReport>;
