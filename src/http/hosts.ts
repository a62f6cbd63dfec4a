/** `POST /v1/hosts/{replicaId}/…`: where hosts say that they are there. Their signature is all they need. */
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import { z } from 'zod';
import { WaybillError } from '../domain/errors';
import { LIFECYCLE_OPERATIONS, type LifecycleOperation } from '../domain/host-protocol';
import { JOSE_TYPE, LIFECYCLE_LIMIT_BYTES } from '../hosts/protocol/limits';
import { LifecycleAccepted, LifecycleDeclined } from '../schemas/host-messages';
import type { LifecycleDeps } from './deps';
import { answerHost } from './hosts/lifecycle';
import { answer, problems } from './openapi';

const HostParams = z.object({
  replicaId: z.string().min(1).max(200).describe('The replica, as it was published.'),
});
const HostCall = z.string().describe('One compact JWS, signed by the key of the replica.');

const OPERATIONS: Readonly<
  Record<LifecycleOperation, { readonly id: string; readonly summary: string }>
> = {
  register: { id: 'registerHost', summary: 'Begins a new incarnation of a replica.' },
  heartbeat: { id: 'renewHost', summary: "Renews a replica's lease." },
  drain: { id: 'drainHost', summary: 'Gives a replica nothing new any more.' },
  offline: { id: 'leaveHost', summary: 'Takes a replica offline.' },
};

/** Registers the routes on an encapsulated instance: a body is one JWS there, and never JSON. */
export function hostRoutes(app: FastifyInstance, deps: LifecycleDeps, log: Logger): void {
  app.removeAllContentTypeParsers();
  const parse = { parseAs: 'string', bodyLimit: LIFECYCLE_LIMIT_BYTES } as const;
  app.addContentTypeParser('*', parse, (request, body, done) => {
    const [type = ''] = (request.headers['content-type'] ?? '').split(';');
    if (type.trim().toLowerCase() === JOSE_TYPE) done(null, body);
    else done(wrongType());
  });
  const typed = app.withTypeProvider<ZodTypeProvider>();
  for (const operation of LIFECYCLE_OPERATIONS) {
    const { id, summary } = OPERATIONS[operation];
    typed.route({
      method: 'POST',
      url: `/v1/hosts/:replicaId/${operation}`,
      schema: {
        operationId: id,
        summary,
        tags: ['hosts'],
        consumes: [JOSE_TYPE],
        params: HostParams,
        body: HostCall,
        response: {
          200: answer('Done, or done before under this request id.', LifecycleAccepted),
          409: answer('Not done: it is not its turn.', LifecycleDeclined),
          ...problems([
            'invalid_request',
            'body_too_large',
            'host_call_refused',
            'manifest_mismatch',
            'storage_unavailable',
          ]),
        },
      },
      handler: async (request, reply) => {
        const call = { replicaId: request.params.replicaId, operation, jws: request.body };
        const answered = await answerHost(deps, call, log);
        void reply.header('cache-control', 'no-store');
        return answered.kind === 'accepted'
          ? reply.code(200).send(answered)
          : reply.code(409).send(answered);
      },
    });
  }
}

function wrongType(): WaybillError {
  const field = 'content-type';
  return new WaybillError('invalid_request', `The body must be ${JOSE_TYPE}.`, { field });
}
