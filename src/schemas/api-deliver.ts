/** Sending, as the API is asked for it and answers. */
import { z } from 'zod';
import { SIDE_EFFECTS } from '../domain/capabilities';
import { DELIVERY_STATES } from '../domain/delivery-states';
import { MAX_DELIVER_PAYLOAD_BYTES, MAX_DELIVER_WAIT_MS } from '../domain/sending';
import { NAME_PATTERN } from '../domain/ids';
import { Answered, PLAIN_TEXT } from './api-common';
import { ApprovalToken } from './api-deliveries';
import { isShallow, MAX_NESTING } from './nesting';

const Name = z.string().regex(NAME_PATTERN, 'must be a name such as payments');

const Word = z.string().min(1).max(200).regex(PLAIN_TEXT, 'must not contain control characters');

const PolicyDecision = z.strictObject({
  id: Word.describe('By which whoever decided finds it again.'),
  outcome: z.enum(['allow', 'deny']),
  policy: Word.optional().describe('Which policy, and at which revision.'),
});

/** Base64 of so many bytes. */
const MAX_BASE64 = Math.ceil(MAX_DELIVER_PAYLOAD_BYTES / 3) * 4;

export const DeliverBody = z
  .strictObject({
    connector: Name,
    connectionId: Name.describe('The instance of the connector that it is sent through.'),
    operation: Name.describe('An operation that the connector version declares.'),
    payload: z
      .unknown()
      .refine(
        (value) => isShallow(value, MAX_NESTING),
        `must not be nested deeper than ${MAX_NESTING}`,
      )
      .optional()
      .describe('JSON, which is kept in canonical form; or else payloadBase64.'),
    payloadBase64: z
      .base64({ error: 'must be Base64' })
      // Only said here: beyond it the call is answered `body_too_large`, as for JSON.
      .meta({ maxLength: MAX_BASE64 })
      .optional()
      .describe('The very bytes, for what is no JSON or must stay as it is.'),
    contentType: z
      .string()
      .max(200)
      .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[\x20-\x7e]+$/, 'must be a media type')
      .optional()
      .describe('Of payloadBase64; application/octet-stream unless told.'),
    budget: z
      .strictObject({
        attempts: z.int().min(1).max(100).optional(),
        deadlineMs: z
          .int()
          .min(100)
          .max(30 * 86_400_000)
          .optional()
          .describe('No attempt begins later than so long after the call.'),
      })
      .default({})
      .describe("The smaller of this and the connector's retry profile holds."),
    waitMs: z
      .int()
      .min(0)
      .max(MAX_DELIVER_WAIT_MS)
      .default(0)
      .describe('How long to wait for the receipt.'),
    policyDecision: PolicyDecision.optional().describe(
      'Of the class external: one that allows it.',
    ),
    approval: ApprovalToken.optional().describe('Of the class external: an approval token.'),
  })
  .refine(
    ({ payload, payloadBase64 }) => (payload === undefined) !== (payloadBase64 === undefined),
    { path: ['payload'], error: 'write either payload or payloadBase64' },
  )
  .refine(
    ({ contentType, payloadBase64 }) => contentType === undefined || payloadBase64 !== undefined,
    { path: ['contentType'], error: 'is for payloadBase64; JSON is application/json' },
  );

export const DeliverHeaders = z.object({
  'idempotency-key': z
    .string({ error: 'is missing' })
    // As a string of structured fields, or bare.
    .transform((text) => /^"([^"]*)"$/.exec(text.trim())?.[1] ?? text.trim())
    .pipe(
      z.string().regex(/^[\x21\x23-\x7e]{1,200}$/, 'must be 1 to 200 printable ASCII characters'),
    )
    .describe('The key of this delivery, which lives as long as it does.'),
});

export const Delivered = z
  .object({
    deliveryId: z.uuid(),
    connectorId: z.string(),
    instanceId: z.string().describe('The connectionId.'),
    operation: z.string(),
    sideEffect: z.enum(SIDE_EFFECTS),
    idempotencyKey: z.string(),
    requestDigest: z.string().describe('SHA-256 of the request: what an approval is bound to.'),
    state: z.enum(DELIVERY_STATES),
    attempts: z.int(),
    reason: z.string().nullable().describe('Why it failed or waits.'),
    detail: z.string().nullable(),
    uncertain: z.boolean().describe('It may have had its effect, and nobody knows.'),
    acceptedAt: Answered,
    settledAt: Answered.nullable(),
    nextAttemptAt: Answered.nullable(),
    receipt: z
      .object({ ref: z.string(), jws: z.string() })
      .nullable()
      .describe('Null until it is settled.'),
    status: z.int().nullable().describe("The newest answer's HTTP status."),
    answerSha256: z.string().nullable(),
    answerHead: z.string().nullable().describe('The first bytes of the answer, as text.'),
    workflowId: z.string(),
    workflowUrl: z.string().nullable(),
  })
  .meta({ id: 'Delivered' });
export type Delivered = z.infer<typeof Delivered>;
