/** Connector versions that the token's tenant may see: its own, and the platform's. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listConnectors } from '../db/connector-lists';
import { ConnectorPage, ListConnectorsQuery } from '../schemas/api-connectors';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const SCOPE = 'factory.connections.read';

/** Registers the routes on an instance that requires tokens. */
export function connectorRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/factory/connectors',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listConnectors',
      summary: 'Connector versions with their capabilities, adapter, scheme and certification.',
      tags: ['connectors'],
      security: needs(SCOPE),
      querystring: ListConnectorsQuery,
      response: {
        200: answer('One page.', ConnectorPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, ...filters }: z.output<typeof ListConnectorsQuery>,
): Promise<ConnectorPage> {
  const { tenantId } = principalOf(request);
  const scope = { list: 'connectors', tenantId, filters } as const;
  const { connectorId = null, state = null } = filters;
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope, limit, cursor },
    (position, count) =>
      listConnectors(deps.data, { tenantId, connectorId, state, after: position, limit: count }),
    (row) => [row.connectorId, row.version],
  );
  return { view: 'live', connectors: rows, nextCursor };
}
