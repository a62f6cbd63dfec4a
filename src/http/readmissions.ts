/** Readmitting rejected deliveries. The tenant is the token's, always. */
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { deliveryId } from '../domain/ids';
import { DeliveryParams } from '../schemas/api-deliveries';
import { ReadmitBody, Readmitted } from '../schemas/api-readmissions';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { openIngresses } from './open-ingresses';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readmit } from './readmitting';
import { requireInbound } from './replay-limits';

/** Registers the route on an instance that requires tokens. */
export function readmissionRoutes(app: FastifyInstance, deps: HttpDeps): void {
  // What has just been published must hold here.
  const ingresses = openIngresses(deps.data, 0);
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/factory/deliveries/:deliveryId/readmit',
    config: { scope: 'factory.connections.operate' },
    schema: {
      operationId: 'readmitDelivery',
      summary: 'Makes a new delivery of a rejected one, once its stored bytes are verified.',
      tags: ['deliveries'],
      security: needs('factory.connections.operate'),
      params: DeliveryParams,
      body: ReadmitBody,
      response: {
        202: answer('Judged as of its receipt; two calls are one readmission.', Readmitted),
        ...problems([
          ...EVERY_CALL,
          ...(['not_found', 'delivery_not_rejected', 'rejected_bytes_gone'] as const),
          ...(['readmission_refused', 'unknown_ingress', 'ingress_gone'] as const),
          ...(['secret_unavailable', 'body_too_large'] as const),
        ]),
      },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      const { tenantId, subject } = principal;
      requireInbound(principal);
      const ref = { tenantId, deliveryId: deliveryId(request.params.deliveryId) };
      const { reason } = request.body;
      const done = await readmit(deps, ingresses, ref, { readmittedBy: subject, reason });
      deps.log.info({ ...ref, readmittedBy: subject, outcome: done.outcome }, 'readmitted');
      return reply.code(202).send(done);
    },
  });
}
