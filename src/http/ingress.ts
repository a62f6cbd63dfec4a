/** `POST /webhooks/{ingressRef}`: the route by which vendors deliver. */
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { IngressAnswer, IngressBody, IngressParams } from '../schemas/api-ingress';
import type { HttpDeps } from './deps';
import { answer, problems } from './openapi';
import { BodyBudget } from './body-budget';
import { openIngresses } from './open-ingresses';
import { receiveWebhook } from './receiving';
import { refusalLimit } from './refusals';

const INGRESS_KEPT_MS = 1_000;
/** Ten of the largest bodies that an ingress may take. */
const BODY_BUDGET_BYTES = 256 * 1024 * 1024;

/** Registers the ingress on an encapsulated instance: bodies are never parsed there. */
export function ingressRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const ingresses = openIngresses(deps.data, deps.ingressKeptMs ?? INGRESS_KEPT_MS);
  const budget = new BodyBudget(deps.bodyBudgetBytes ?? BODY_BUDGET_BYTES);
  const reception = { deps, limit: refusalLimit(), ingresses, budget };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(null);
  });
  // The framework answers 415 to a content type that it cannot read; here any is as good as none.
  app.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done();
  });
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/webhooks/:ingressRef',
    schema: {
      operationId: 'receiveWebhook',
      summary: 'Receives a webhook of a vendor.',
      tags: ['ingress'],
      consumes: ['*/*'],
      params: IngressParams,
      body: IngressBody,
      response: {
        202: answer('Verified; stored unless it was ignored.', IngressAnswer),
        ...problems([
          'unknown_ingress',
          'ingress_gone',
          'body_too_large',
          'body_incomplete',
          'signature_refused',
          'signature_stale',
          'rejections_limited',
          'overloaded',
          'storage_unavailable',
          'secret_unavailable',
        ]),
      },
    },
    handler: async (request, reply) => {
      const { ingressRef: ref } = request.params;
      const received = await receiveWebhook(reception, { ref, ip: request.ip, raw: request.raw });
      return reply.code(202).send(received);
    },
  });
}
