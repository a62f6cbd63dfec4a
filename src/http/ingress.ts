/** `/webhooks/{ingressRef}`: the routes by which vendors deliver, and ask before they do. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { IngressAnswer, IngressBody, IngressParams } from '../schemas/api-ingress';
import type { HttpDeps } from './deps';
import { answer, problems } from './openapi';
import { BodyBudget } from './body-budget';
import { BoundedLines } from './bounded-lines';
import { IngestGroups } from './ingest-groups';
import { openIngresses } from './open-ingresses';
import { answerProbe } from './handshakes';
import { sendReply } from './ingress-replies';
import { receiveWebhook } from './receiving';
import type { Reception } from './reception-notes';
import { refusalLimit } from './refusals';

const INGRESS_KEPT_MS = 1_000;
/** Ten of the largest bodies that an ingress may take. */
const BODY_BUDGET_BYTES = 256 * 1024 * 1024;

/** Registers the ingress on an encapsulated instance: bodies are never parsed there. */
export function ingressRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const ingresses = openIngresses(deps.data, deps.ingressKeptMs ?? INGRESS_KEPT_MS);
  const budget = new BodyBudget(deps.bodyBudgetBytes ?? BODY_BUDGET_BYTES);
  const groups = new IngestGroups(deps.data, deps.starter);
  const lines = new BoundedLines();
  const reception = { deps, limit: refusalLimit(), lines, ingresses, budget, groups };
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(null);
  });
  // The framework answers 415 to a content type that it cannot read; here any is as good as none.
  app.addHook('onRequest', (request, _reply, done) => {
    delete request.raw.headers['content-type'];
    done();
  });
  deliveryRoute(app, reception);
  handshakeRoutes(app, reception);
}

function deliveryRoute(app: FastifyInstance, reception: Reception): void {
  app.route({
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
        200: ownAnswer('What the scheme answers: to a handshake, or in place of 202.'),
        202: answer('Verified; stored unless it was ignored.', IngressAnswer),
        ...problems([
          'unknown_ingress',
          'ingress_gone',
          'body_too_large',
          'body_incomplete',
          'signature_refused',
          'signature_stale',
          'handshake_refused',
          'rejections_limited',
          'overloaded',
          'storage_unavailable',
          'secret_unavailable',
        ]),
      },
    },
    handler: async (request, reply) => {
      const { ingressRef: ref } = IngressParams.parse(request.params);
      const arriving = { ref, ip: request.ip, raw: request.raw };
      return await sendReply(reply, await receiveWebhook(reception, arriving));
    },
  });
}

function handshakeRoutes(app: FastifyInstance, reception: Reception): void {
  const answerHandshake = async (request: FastifyRequest, reply: FastifyReply) => {
    const { ingressRef: ref } = IngressParams.parse(request.params);
    const arriving = { ref, ip: request.ip, raw: request.raw };
    return await sendReply(reply, await answerProbe(reception, arriving));
  };
  // Answered like the GET that is documented, without its body.
  app.route({
    method: 'HEAD',
    url: '/webhooks/:ingressRef',
    schema: { hide: true, params: IngressParams },
    handler: answerHandshake,
  });
  app.route({
    method: 'GET',
    url: '/webhooks/:ingressRef',
    exposeHeadRoute: false,
    schema: {
      operationId: 'answerHandshake',
      summary: 'Answers what a vendor asks before it delivers; by HEAD, too.',
      tags: ['ingress'],
      params: IngressParams,
      response: {
        200: ownAnswer("What the ingress's scheme answers; no other scheme answers these methods."),
        ...problems([
          'unknown_ingress',
          'ingress_gone',
          'handshake_refused',
          'method_not_allowed',
          'rejections_limited',
          'storage_unavailable',
          'secret_unavailable',
        ]),
      },
    },
    handler: answerHandshake,
  });
}

/** Text or JSON as the scheme has it, never a page. */
function ownAnswer(description: string) {
  return {
    description,
    content: {
      'text/plain': { schema: z.string() },
      'application/json': { schema: z.unknown() },
    },
  };
}
