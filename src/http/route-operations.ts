/** What operators ask about routes and do with them. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listAttempts } from '../db/attempt-lists';
import { WaybillError } from '../domain/errors';
import { ActionParams } from '../schemas/api-actions';
import {
  AttemptPage,
  ListAttemptsQuery,
  RepinAnswer,
  RepinBody,
} from '../schemas/api-route-operations';
import { requireUseOf } from './action-limits';
import { readAction } from './actions';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';
import { HttpProblem } from './problems';

const READ = 'factory.actions.read';
const OPERATE = 'factory.actions.operate';

/** Registers the routes on an instance that requires tokens. */
export function routeOperationRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/v1/route-attempts',
    config: { scope: READ },
    schema: {
      operationId: 'listAttempts',
      summary: 'Attempts that are open, or of which nobody knows the end, the longest first.',
      tags: ['routes'],
      security: needs(READ),
      querystring: ListAttemptsQuery,
      response: {
        200: answer('One page.', AttemptPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  typed.route({
    method: 'POST',
    url: '/v1/actions/:actionId/repin',
    config: { scope: OPERATE, ofCapability: true },
    schema: {
      operationId: 'repinAction',
      summary: 'Takes a pinned action from its host, where every attempt is proven without effect.',
      tags: ['actions'],
      security: needs(OPERATE),
      params: ActionParams,
      body: RepinBody,
      response: {
        200: answer('Its next reservation chooses anew.', RepinAnswer),
        ...problems([
          ...EVERY_CALL,
          'not_found',
          'capability_unavailable',
          'repin_refused',
          'body_too_large',
        ]),
      },
    },
    handler: (request) => repin(deps, request, { ...request.params, ...request.body }),
  });
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, state }: z.output<typeof ListAttemptsQuery>,
): Promise<AttemptPage> {
  const { tenantId } = principalOf(request);
  const { rows, nextCursor } = await readPage(
    {
      cursorKey: deps.cursorKey,
      scope: { list: 'attempts', tenantId, filters: { state } },
      limit,
      cursor,
    },
    (position, count) => {
      const after = position && { at: position[0], actionId: position[1] };
      return listAttempts(deps.data, { tenantId, state, after, limit: count });
    },
    (row) => [row.since, row.actionId],
  );
  return { view: 'live', attempts: rows, nextCursor };
}

async function repin(
  deps: HttpDeps,
  request: FastifyRequest,
  { actionId, reason }: z.output<typeof ActionParams> & z.output<typeof RepinBody>,
): Promise<RepinAnswer> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const ref = { tenantId, actionId };
  await requireUseOf(deps, principal, ref);
  const answered = await deps.repin(ref, { by: subject, reason });
  const why = answered.kind === 'refused' ? answered.why : undefined;
  deps.log.info({ ...ref, repinnedBy: subject, outcome: answered.kind, why }, 'repin asked for');
  if (answered.kind === 'unknown_action') throw new WaybillError('not_found');
  if (answered.kind === 'refused') {
    throw new HttpProblem('repin_refused', `It stays where it is: ${answered.detail}.`, {
      extra: { reason: answered.why },
    });
  }
  const action = await readAction(deps, ref);
  if (action === null) throw new WaybillError('internal', 'an action that was moved is gone');
  return { decision: answered.kind, action };
}
