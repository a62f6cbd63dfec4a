/** Finding and showing where a tenant's actions went. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listRoutes, showRoute } from '../db/route-lists';
import { WaybillError } from '../domain/errors';
import { ListRoutesQuery, RouteDetail, RoutePage, RouteParams } from '../schemas/api-routes';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const SCOPE = 'factory.actions.read';

/** Registers the routes on an instance that requires tokens. */
export function routeRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/v1/routes',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listRoutes',
      summary: 'Routes that match every filter, the last assigned first.',
      tags: ['routes'],
      security: needs(SCOPE),
      querystring: ListRoutesQuery,
      response: {
        200: answer('One page.', RoutePage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/v1/routes/:actionId',
    config: { scope: SCOPE },
    schema: {
      operationId: 'showRoute',
      summary: 'The assignment of one action, with its attempts.',
      tags: ['routes'],
      security: needs(SCOPE),
      params: RouteParams,
      response: {
        200: answer('The assignment and its attempts.', RouteDetail),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const found = await showRoute(deps.data, { tenantId, actionId: request.params.actionId });
      if (found === null) throw new WaybillError('not_found');
      return found;
    },
  });
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, ...filters }: z.output<typeof ListRoutesQuery>,
): Promise<RoutePage> {
  const { tenantId } = principalOf(request);
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope: { list: 'routes', tenantId, filters }, limit, cursor },
    (position, count) => {
      const after = position && { at: position[0], actionId: position[1] };
      return listRoutes(deps.data, { tenantId, filters, after, limit: count });
    },
    (row) => [row.assignedAt, row.actionId],
  );
  return { view: 'live', routes: rows, nextCursor };
}
