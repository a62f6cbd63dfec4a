/** What a process says of itself: alive, ready, its public keys and its API's document. */
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { Health, KeySet, Readiness } from '../schemas/api-health';
import type { ServerDeps } from './deps';
import { answer, problems } from './openapi';
import { HttpProblem } from './problems';

export function processRoutes(app: FastifyInstance, deps: ServerDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/health',
    schema: {
      operationId: 'health',
      summary: 'Says that the process is alive, and no more.',
      tags: ['process'],
      response: { 200: answer('Alive.', Health), ...problems([]) },
    },
    handler: () => ({ status: 'alive' as const }),
  });
  typed.route({
    method: 'GET',
    url: '/ready',
    schema: {
      operationId: 'ready',
      summary: 'Says whether the process can do its work now.',
      tags: ['process'],
      response: { 200: answer('Every check is ok.', Readiness), ...problems(['not_ready']) },
    },
    handler: async () => {
      const { ready, checks } = await deps.ready();
      if (ready) return { ready, checks: { ...checks } };
      throw new HttpProblem('not_ready', failedChecks(checks), {
        extra: { checks: { ...checks } },
      });
    },
  });
  typed.route({
    method: 'GET',
    url: '/.well-known/jwks.json',
    schema: {
      operationId: 'publicKeys',
      summary: 'The public keys that receipts verify with.',
      tags: ['process'],
      response: { 200: answer('A JSON Web Key Set.', KeySet), ...problems([]) },
    },
    handler: (_request, reply) => {
      void reply.header('cache-control', 'public, max-age=300');
      return { keys: deps.publicKeys.keys.map((key) => ({ ...key })) };
    },
  });
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger());
}

function failedChecks(checks: Readonly<Record<string, string>>): string {
  const failed = Object.entries(checks).filter(([, result]) => result !== 'ok');
  return failed.map(([name, result]) => `${name}: ${result}`).join('; ');
}
