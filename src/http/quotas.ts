/** What limits a tenant, and what takes it up. What others hold is nobody's business here. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listQuotas } from '../db/quota-lists';
import { ListQuotasQuery, QuotaPage, type SharedScope } from '../schemas/api-quotas';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const SCOPE = 'factory.actions.read';

/** Registers the route on an instance that requires tokens. */
export function quotaRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/v1/quotas',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listQuotas',
      summary: "The tenant's quota scopes: how full they are, and who holds them.",
      tags: ['routes'],
      security: needs(SCOPE),
      querystring: ListQuotasQuery,
      response: {
        200: answer("One page of the tenant's own scopes, and the shared ones.", QuotaPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, full = false }: z.output<typeof ListQuotasQuery>,
): Promise<QuotaPage> {
  const { tenantId } = principalOf(request);
  let shared: readonly SharedScope[] = [];
  const { rows, nextCursor } = await readPage(
    {
      cursorKey: deps.cursorKey,
      scope: { list: 'quotas', tenantId, filters: { full } },
      limit,
      cursor,
    },
    async (after, count) => {
      const found = await listQuotas(deps.data, { tenantId, full, after, limit: count });
      ({ shared } = found);
      return found.scopes;
    },
    ({ key, scope }) => [scope.scope, key],
  );
  const scopes = rows.map(({ scope }) => scope);
  return { view: 'live', scopes, shared: [...shared], nextCursor };
}
