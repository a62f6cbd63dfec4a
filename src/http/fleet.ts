/** The tenant's own hosts and their load. What others have is nobody's business here. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listReplicas, tenantFleetStatus } from '../db/replica-lists';
import { FleetStatusQuery, TenantFleet } from '../schemas/api-fleet';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const SCOPE = 'factory.fleet.read';

/** Registers the route on an instance that requires tokens. */
export function fleetRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/v1/fleet/status',
    config: { scope: SCOPE },
    schema: {
      operationId: 'fleetStatus',
      summary: "The tenant's replicas by id, and figures of all of them.",
      tags: ['fleet'],
      security: needs(SCOPE),
      querystring: FleetStatusQuery,
      response: {
        200: answer('One page of replicas, and the figures of all.', TenantFleet),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => status(deps, request, request.query),
  });
}

async function status(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, status: wanted }: z.output<typeof FleetStatusQuery>,
): Promise<TenantFleet> {
  const { tenantId } = principalOf(request);
  const only = wanted ?? null;
  const { rows, nextCursor } = await readPage(
    {
      cursorKey: deps.cursorKey,
      scope: { list: 'replicas', tenantId, filters: { status: only } },
      limit,
      cursor,
    },
    (position, count) => {
      const after = position?.[1] ?? null;
      return listReplicas(deps.data, { tenantId, status: only, after, limit: count });
    },
    (row) => [row.instanceId, row.replicaId],
  );
  const totals = await tenantFleetStatus(deps.data, tenantId);
  return { view: 'live', totals, replicas: rows, nextCursor };
}
