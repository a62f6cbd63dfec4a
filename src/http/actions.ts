/** Finding and showing a tenant's actions. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listActions, showAction } from '../db/action-lists';
import type { ActionRef } from '../domain/action-service';
import { WaybillError } from '../domain/errors';
import { Action, ActionPage, ActionParams, ListActionsQuery } from '../schemas/api-actions';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';
import { actionLinks } from './workflow-links';

const SCOPE = 'factory.actions.read';

/** Registers the routes on an instance that requires tokens. */
export function actionRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/v1/actions',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listActions',
      summary: 'Actions that match every filter, newest first.',
      tags: ['actions'],
      security: needs(SCOPE),
      querystring: ListActionsQuery,
      response: {
        200: answer('One page.', ActionPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/v1/actions/:actionId',
    config: { scope: SCOPE },
    schema: {
      operationId: 'showAction',
      summary: 'Everything that is known of one action.',
      tags: ['actions'],
      security: needs(SCOPE),
      params: ActionParams,
      response: {
        200: answer('Facts, result, route and attempts.', Action),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: async (request) => {
      const { tenantId } = principalOf(request);
      const found = await readAction(deps, { tenantId, actionId: request.params.actionId });
      if (found === null) throw new WaybillError('not_found');
      return found;
    },
  });
}

/** The action as the API shows it; null when the tenant has none such. */
export async function readAction(deps: HttpDeps, ref: ActionRef): Promise<Action | null> {
  const found = await showAction(deps.data, ref);
  return found && { ...found, ...actionLinks(deps, ref.tenantId, ref.actionId) };
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, ...filters }: z.output<typeof ListActionsQuery>,
): Promise<ActionPage> {
  const { tenantId } = principalOf(request);
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope: { list: 'actions', tenantId, filters }, limit, cursor },
    (position, count) => {
      const after = position && { at: position[0], actionId: position[1] };
      return listActions(deps.data, { tenantId, filters, after, limit: count });
    },
    (row) => [row.createdAt, row.actionId],
  );
  const actions = rows.map((row) => ({ ...row, ...actionLinks(deps, tenantId, row.actionId) }));
  return { view: 'live', actions, nextCursor };
}
