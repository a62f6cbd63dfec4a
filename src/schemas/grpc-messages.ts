/** Requests of the gRPC service as their .proto has them; a field that it lacks is not looked at. */
import { z } from 'zod';
import { DeliverBody, DeliverHeaders } from './api-deliver';
import { Name } from './names';

export const ResolveCapabilityRequest = z.object({
  /** Which one of the two is there. */
  wanted: z.enum(['capabilityId', 'interface'], { error: 'name a capability_id or an interface' }),
  capabilityId: Name.optional(),
  interface: Name.optional(),
  projectId: Name.optional(),
});
export type ResolveCapabilityRequest = z.infer<typeof ResolveCapabilityRequest>;

/** A field that is not there is empty. */
const Absent = z.literal('').transform(() => null);

const body = DeliverBody.shape;
const decision = body.policyDecision.unwrap().shape;

/** The rules are those of the API's body. */
export const DeliverRequest = z.object({
  connectorId: body.connector,
  connectionId: body.connectionId,
  operation: body.operation,
  idempotencyKey: DeliverHeaders.shape['idempotency-key'],
  payload: z.instanceof(Uint8Array),
  contentType: z.union([Absent, body.contentType.unwrap()]),
  budget: body.budget.unwrap().strip().nullable(),
  waitMs: body.waitMs,
  policyDecision: z
    .object({
      id: decision.id,
      outcome: decision.outcome,
      policy: z.union([Absent, decision.policy.unwrap()]),
    })
    .nullable(),
  approval: z.union([Absent, body.approval.unwrap()]),
});
export type DeliverRequest = z.infer<typeof DeliverRequest>;
