/** Finding, showing and replaying a tenant's deliveries. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listDeliveries, showDelivery } from '../db/delivery-lists';
import type { DeliveryRef } from '../domain/delivery-activities';
import { WaybillError } from '../domain/errors';
import { deliveryId } from '../domain/ids';
import {
  DeliveryHistory,
  DeliveryPage,
  DeliveryParams,
  ListDeliveriesQuery,
  ReplayAccepted,
  ReplayBody,
} from '../schemas/api-deliveries';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';
import { HttpProblem } from './problems';
import { deliveryLinks } from './workflow-links';
import { requireReplay } from './replay-limits';

/** Of what was sent and may have had its effect. */
const DOUBTED = [
  ...(['delivery_uncertain', 'approval_required'] as const),
  ...(['approval_refused', 'approver_is_requester'] as const),
] as const;

/** Registers the routes on an instance that requires tokens. */
export function deliveryRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/factory/deliveries',
    config: { scope: 'factory.connections.read' },
    schema: {
      operationId: 'listDeliveries',
      summary: 'Deliveries that match every filter, newest first.',
      tags: ['deliveries'],
      security: needs('factory.connections.read'),
      querystring: ListDeliveriesQuery,
      response: {
        200: answer('One page.', DeliveryPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/factory/deliveries/:deliveryId',
    config: { scope: 'factory.connections.read' },
    schema: {
      operationId: 'showDelivery',
      summary: 'Everything that is known of one delivery.',
      tags: ['deliveries'],
      security: needs('factory.connections.read'),
      params: DeliveryParams,
      response: {
        200: answer('Facts, evidence, attempts, receipts and replays.', DeliveryHistory),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: (request) => show(deps, request, request.params),
  });
  typed.route({
    method: 'POST',
    url: '/factory/deliveries/:deliveryId/replay',
    config: { scope: 'factory.connections.operate' },
    schema: {
      operationId: 'replayDelivery',
      summary: 'Dispatches a failed delivery again, from its stored bytes.',
      tags: ['deliveries'],
      security: needs('factory.connections.operate'),
      params: DeliveryParams,
      body: ReplayBody,
      response: {
        202: answer('Decided; the attempts follow. Two calls are one replay.', ReplayAccepted),
        ...problems([
          ...EVERY_CALL,
          ...(['not_found', 'delivery_not_failed', 'body_too_large'] as const),
          ...DOUBTED,
        ]),
      },
    },
    handler: async (request, reply) =>
      reply.code(202).send(await replay(deps, request, { ...request.params, ...request.body })),
  });
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, ...filters }: z.output<typeof ListDeliveriesQuery>,
): Promise<DeliveryPage> {
  const { tenantId } = principalOf(request);
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope: { list: 'deliveries', tenantId, filters }, limit, cursor },
    (position, count) => {
      const after = position && { receivedAt: position[0], deliveryId: deliveryId(position[1]) };
      return listDeliveries(deps.data, { tenantId, filters, after, limit: count });
    },
    (row) => [row.receivedAt, row.deliveryId],
  );
  const deliveries = rows.map((row) => ({ ...row, ...deliveryLinks(deps, tenantId, row) }));
  return { view: 'live', deliveries, nextCursor };
}

async function show(
  deps: HttpDeps,
  request: FastifyRequest,
  params: z.output<typeof DeliveryParams>,
): Promise<DeliveryHistory> {
  const { tenantId } = principalOf(request);
  const found = await showDelivery(deps.data, {
    tenantId,
    deliveryId: deliveryId(params.deliveryId),
  });
  if (found === null) throw new WaybillError('not_found');
  return { ...found, ...deliveryLinks(deps, tenantId, found) };
}

async function replay(
  deps: HttpDeps,
  request: FastifyRequest,
  asked: z.output<typeof DeliveryParams> & z.output<typeof ReplayBody>,
): Promise<ReplayAccepted> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const ref: DeliveryRef = { tenantId, deliveryId: deliveryId(asked.deliveryId) };
  const { reason, confirmUncertain, approval = null } = asked;
  const who = { replayedBy: subject, reason, confirmUncertain, approval };
  await requireReplay(deps, principal, ref);
  const decided = await deps.replay(ref, who);
  deps.log.info({ ...ref, replayedBy: subject, outcome: decided.kind }, 'replay asked for');
  switch (decided.kind) {
    case 'unknown_delivery':
      throw new WaybillError('not_found');
    case 'not_failed':
      throw new HttpProblem(
        'delivery_not_failed',
        `The delivery is ${decided.state}; only a failed one can be replayed.`,
        { extra: { state: decided.state } },
      );
    case 'uncertain':
      throw new WaybillError('delivery_uncertain', '', { field: 'confirmUncertain' });
    case 'approval_required':
      throw new WaybillError(decided.code, decided.detail, { field: 'approval' });
    case 'replayed':
      deps.starter.nudge(ref);
      return { ...accepted(ref), outcome: 'replayed', series: decided.series, state: 'Replayed' };
    case 'already_replaying':
      deps.starter.nudge(ref);
      return {
        ...accepted(ref),
        outcome: 'already_replaying',
        series: decided.series,
        state: decided.state,
      };
  }
}

function accepted(ref: DeliveryRef): { deliveryId: string } {
  return { deliveryId: ref.deliveryId };
}
