/** Sending through a connection: one call, once an idempotency key. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { DeliverAnswer, DeliverOrder } from '../domain/sending';
import { DELIVER_REFUSALS, MAX_DELIVER_PAYLOAD_BYTES } from '../domain/sending';
import { WaybillError } from '../domain/errors';
import { untilFirst } from '../domain/signals';
import { DeliverBody, Delivered, DeliverHeaders } from '../schemas/api-deliver';
import { canonicalJson } from '../schemas/canonical-json';
import { principalOf } from './authorization';
import { closingSignal } from './closing-signal';
import type { HttpDeps } from './deps';
import { hangUp } from './hang-up';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { HttpProblem } from './problems';
import { permits, type UsedCapability } from './token-limits';
import { sentLinks } from './workflow-links';

const SCOPE = 'factory.deliveries.send';

/** A payload as Base64, and room for what stands around it. */
const BODY_LIMIT_BYTES = Math.ceil(MAX_DELIVER_PAYLOAD_BYTES / 3) * 4 + 16_384;

/** Registers the route on an instance that requires tokens. */
export function deliverRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const closing = closingSignal(app);
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/v1/deliver',
    bodyLimit: BODY_LIMIT_BYTES,
    config: { scope: SCOPE, idempotencyKey: 'own', sideEffects: 'external', ofCapability: true },
    schema: {
      operationId: 'deliver',
      summary: 'Sends through a connection, once: the same key and request is the same delivery.',
      tags: ['deliveries'],
      security: needs(SCOPE),
      headers: DeliverHeaders,
      body: DeliverBody,
      response: {
        200: answer('It is over: Acknowledged or Failed, with its receipt.', Delivered),
        202: answer('It goes on by itself; the same call again meets it.', Delivered),
        ...problems([...EVERY_CALL, ...DELIVER_REFUSALS, 'body_too_large']),
      },
    },
    handler: async (request, reply) => {
      const order = orderOf(request.headers, request.body);
      const answered = await untilFirst([closing, hangUp(reply)], (signal) =>
        deliver(deps, request, order, signal),
      );
      return reply.code(answered.kind === 'settled' ? 200 : 202).send({
        ...answered.delivery,
        ...sentLinks(deps, principalOf(request).tenantId, answered.delivery.deliveryId),
      });
    },
  });
}

async function deliver(
  deps: HttpDeps,
  request: FastifyRequest,
  order: DeliverOrder,
  signal: AbortSignal,
): Promise<Exclude<DeliverAnswer, { kind: 'refused' }>> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const who = { tenantId, subject, permits: (used: UsedCapability) => permits(principal, used) };
  const answered = await deps.deliver(order, who, signal);
  const { connectorId, instanceId, operation } = order;
  const about = { tenantId, connectorId, instanceId, operation, requestedBy: subject };
  const outcome = answered.kind === 'refused' ? answered.code : answered.kind;
  const deliveryId = answered.kind === 'refused' ? undefined : answered.delivery.deliveryId;
  deps.log.info({ ...about, deliveryId, outcome }, 'sending asked for');
  if (answered.kind !== 'refused') return answered;
  const { code, detail, field, requestDigest } = answered;
  throw new HttpProblem(code, detail, {
    ...(field === undefined ? {} : { field }),
    ...(requestDigest === undefined ? {} : { extra: { requestDigest } }),
  });
}

function orderOf(
  headers: z.output<typeof DeliverHeaders>,
  body: z.output<typeof DeliverBody>,
): DeliverOrder {
  const { payload, contentType } = bytesOf(body);
  const { attempts = null, deadlineMs = null } = body.budget;
  const decision = body.policyDecision;
  return {
    ...{ connectorId: body.connector, instanceId: body.connectionId, operation: body.operation },
    idempotencyKey: headers['idempotency-key'],
    ...{ payload, contentType },
    budget: { attempts, deadlineMs },
    waitMs: body.waitMs,
    policyDecision:
      decision === undefined ? null : { ...decision, policy: decision.policy ?? null },
    approval: body.approval ?? null,
  };
}

/** @throws WaybillError `body_too_large` */
function bytesOf(
  body: z.output<typeof DeliverBody>,
): Pick<DeliverOrder, 'payload' | 'contentType'> {
  const bytes =
    body.payloadBase64 === undefined
      ? Buffer.from(canonicalJson(body.payload), 'utf8')
      : Buffer.from(body.payloadBase64, 'base64');
  if (bytes.length > MAX_DELIVER_PAYLOAD_BYTES) {
    throw new WaybillError(
      'body_too_large',
      `A payload has at most ${MAX_DELIVER_PAYLOAD_BYTES} bytes.`,
    );
  }
  const usual = body.payloadBase64 === undefined ? 'application/json' : 'application/octet-stream';
  return { payload: bytes, contentType: body.contentType ?? usual };
}
