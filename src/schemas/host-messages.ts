/** Everything that Waybill and a host read from each other: docs/host-protocol has it in words. */
import { z } from 'zod';
import { RECOVERIES, SIDE_EFFECTS } from '../domain/capabilities';
import {
  HOST_REFUSALS,
  LIFECYCLE_OPERATIONS,
  PROGRESS_NOTE_CHARS,
  TOKEN_PURPOSES,
  type HostAnswerClaims,
  type HostManifest,
  type LifecycleClaims,
  type Progress,
  type RouteToken,
} from '../domain/host-protocol';
import { printedLine, storableText } from '../domain/plain-text';
import { REPLICA_STATUSES } from '../domain/registry-ports';
import { isShallow, MAX_NESTING } from './nesting';

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const Count = z.int().nonnegative();
/** An id that is not made up here: printed as it is, so without control characters. */
const Text = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{Cc}\p{Cs}]+$/u);
const Instant = z.number().nonnegative();
/** Bounded first: whatever walks a value by calling itself runs out of stack over a deeper one. */
const Json = z
  .unknown()
  .refine((value) => isShallow(value, MAX_NESTING), {
    error: `is nested deeper than ${MAX_NESTING} levels`,
    abort: true,
  })
  .pipe(z.json());
const Did = z
  .string()
  .max(128)
  .regex(/^did:key:z/);

/** Fits a path segment as it is and cannot be a relative one. */
export const ActionId = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/);

/** Lenient to claims that a later version adds. */
export const RouteTokenSchema: z.ZodType<RouteToken> = z.object({
  iss: Text,
  aud: Did,
  iat: Instant,
  exp: Instant,
  jti: Text,
  tenant: Text,
  action: ActionId,
  capability: Text,
  connector: Text,
  instance: Text,
  version: Text,
  manifest_digest: Sha256,
  replica: Text,
  incarnation: Count,
  store_epoch: Text.nullable(),
  sent_ago_ms: Count.nullable(),
  begin_anew: z.boolean(),
  topology: z.object({ region: z.string(), zone: z.string(), capacityClass: z.string() }),
  fence: z.int().positive(),
  catalog_revision: Count,
  binding_policy_revision: Count,
  credential_revision: Text,
  quota_policy: Text.nullable(),
  approval: z.string().max(4_096).nullable(),
  purpose: z.enum(TOKEN_PURPOSES),
  body_sha256: Sha256,
});

/** For people: what cannot be read of it costs no answer. */
const ProgressSchema: z.ZodType<Progress> = z.object({
  note: z
    .string()
    .meta({ maxLength: PROGRESS_NOTE_CHARS })
    .transform((note) => printedLine(note, PROGRESS_NOTE_CHARS)),
  percent: z.number().min(0).max(100).transform(Math.round).nullable().catch(null),
});

const succeeded = z.object({ kind: z.literal('succeeded'), result: Json });
const failed = z.object({
  kind: z.literal('failed'),
  errorCode: z.string().regex(/^[a-z0-9_]{1,64}$/),
  // Of somebody else's making: kept, without what no row can hold.
  detail: z.string().max(2_000).transform(storableText),
});
const others = [
  z.object({
    kind: z.literal('running'),
    progress: ProgressSchema.nullable().catch(null),
  }),
  z.object({ kind: z.literal('not_started') }),
  z.object({ kind: z.literal('unknown') }),
] as const;
const refused = z.object({
  kind: z.literal('refused'),
  refusal: z.enum(HOST_REFUSALS),
  started: z.boolean(),
  highest_fence: Count.nullable(),
  retry_after_ms: Count.optional(),
});
const cancelled = z.object({ kind: z.literal('cancelled') });

export const FinalOutcomeSchema = z.discriminatedUnion('kind', [succeeded, failed, cancelled]);

export const HostAnswerSchema: z.ZodType<HostAnswerClaims> = z.object({
  iss: Did,
  iat: Instant,
  in_reply_to: Text.nullable(),
  tenant: Text.nullable(),
  action: ActionId.nullable(),
  fence: z.int().positive().nullable(),
  token_sha256: Sha256,
  body_sha256: Sha256,
  store_epoch: Text,
  outcome: z.discriminatedUnion('kind', [succeeded, failed, cancelled, ...others, refused]),
});

export const HostManifestSchema: z.ZodType<HostManifest> = z.object({
  protocol: z.literal(1),
  connectorId: Text,
  version: Text,
  capabilities: z
    .array(
      z.object({
        capabilityId: Text,
        interfaceName: Text,
        sideEffect: z.enum(SIDE_EFFECTS),
        recovery: z.enum(RECOVERIES),
        requestSchema: Json,
        resultSchema: Json,
        timeoutMs: z.int().positive().max(600_000),
      }),
    )
    .max(500),
});

export const LifecycleClaimsSchema: z.ZodType<LifecycleClaims> = z.object({
  iss: Did,
  sub: Text,
  aud: Text,
  iat: Instant,
  exp: Instant,
  operation: z.enum(LIFECYCLE_OPERATIONS),
  request_id: z.uuid(),
  previous_sequence: Count,
  store_epoch: Text,
  manifest_digest: Sha256,
  healthy: z.boolean(),
  in_flight: Count,
});

/** Whose route tokens a host believes. */
export const TokenTrust = z.object({
  issuer: Text,
  keys: z.object({
    keys: z
      .array(
        z.looseObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), kid: Text, x: Text }),
      )
      .min(1)
      .max(8),
  }),
});
export type TokenTrust = z.infer<typeof TokenTrust>;

/** What the lifecycle service answers with 200. */
export const LifecycleAccepted = z
  .object({
    kind: z.literal('accepted'),
    sequence: z.int().positive(),
    incarnation: Count,
    status: z.enum(REPLICA_STATUSES),
    leaseMs: Count.describe('0 once it is offline.'),
    trust: TokenTrust.optional().describe(
      'With `register` and `heartbeat`: a new key gets here before it is used.',
    ),
  })
  .meta({ id: 'LifecycleAccepted' });

/** What it answers with 409. */
export const LifecycleDeclined = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('unknown_replica') }),
    z.object({
      kind: z
        .literal('must_register')
        .describe('Its lease ran out; the same process may register.'),
      sequence: Count,
    }),
    z.object({
      kind: z.literal('stale_sequence').describe('Another process has spoken for it since.'),
      sequence: Count,
    }),
  ])
  .meta({ id: 'LifecycleDeclined' });

export const LifecycleReply = z.discriminatedUnion('kind', [LifecycleAccepted, LifecycleDeclined]);
export type LifecycleReply = z.infer<typeof LifecycleReply>;

/** Answers of `/health` and `/ready`. */
export const HostHealth = z.object({ status: z.literal('alive') });
export const HostReadiness = z.object({
  ready: z.boolean(),
  reason: z.string().max(500).nullable(),
});
export type HostReadiness = z.infer<typeof HostReadiness>;
