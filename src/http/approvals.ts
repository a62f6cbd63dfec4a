/** What waits for an approval. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listWaitingApprovals } from '../db/approval-lists';
import { ApprovalPage, ListApprovalsQuery } from '../schemas/api-approvals';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';
import { actionLinks } from './workflow-links';

const SCOPE = 'factory.actions.read';

/** Registers the route on an instance that requires tokens. */
export function approvalRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/v1/approvals',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listApprovals',
      summary: 'Actions that wait for an approval, those asked about first.',
      tags: ['actions'],
      security: needs(SCOPE),
      querystring: ListApprovalsQuery,
      response: {
        200: answer('One page.', ApprovalPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor }: z.output<typeof ListApprovalsQuery>,
): Promise<ApprovalPage> {
  const { tenantId } = principalOf(request);
  const scope = { list: 'approvals', tenantId, filters: {} } as const;
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope, limit, cursor },
    (position, count) => {
      const after = position && { at: position[0], actionId: position[1] };
      return listWaitingApprovals(deps.data, { tenantId, after, limit: count });
    },
    (row) => [row.askedAt, row.actionId],
  );
  const approvals = rows.map((row) => ({ ...row, ...actionLinks(deps, tenantId, row.actionId) }));
  return { view: 'live', approvals, nextCursor };
}
