/** Starting and cancelling actions. Who asks is the token's subject, for whom its tenant. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { ActionRef } from '../domain/action-service';
import { WaybillError } from '../domain/errors';
import { untilFirst } from '../domain/signals';
import { REQUEST_LIMIT_BYTES } from '../hosts/protocol/limits';
import {
  Action,
  ActionParams,
  CancelActionBody,
  CancelAnswer,
  StartActionBody,
  StartActionQuery,
} from '../schemas/api-actions';
import { readAction } from './actions';
import { requireUse, requireUseOf } from './action-limits';
import { principalOf } from './authorization';
import { closingSignal } from './closing-signal';
import type { HttpDeps } from './deps';
import { hangUp } from './hang-up';
import { answer, EVERY_CALL, needs, problems } from './openapi';

const SCOPE = 'factory.actions.run';

/** A request, and room for what stands around it. */
const START_LIMIT_BYTES = REQUEST_LIMIT_BYTES + 8_192;

const ENDED = 'It is closed: completed, failed or cancelled, as `state` says.';
const LIVE = 'It is under way; ask for it again, or send the same call with `waitMs`.';

const START_PROBLEMS = [
  ...EVERY_CALL,
  'capability_unavailable',
  'capability_not_permitted',
  ...(['approval_required', 'approval_refused', 'approver_is_requester'] as const),
  'action_request_invalid',
  'action_conflict',
  'stale_plan',
  'body_too_large',
] as const;

type StartCall = z.output<typeof StartActionBody> &
  z.output<typeof StartActionQuery> &
  z.output<typeof ActionParams>;

/** Registers the routes on an instance that requires tokens. */
export function actionCallRoutes(app: FastifyInstance, deps: HttpDeps): void {
  startRoute(app, deps, closingSignal(app));
  cancelRoute(app, deps);
}

/** @param closing aborted when the server is to end */
function startRoute(app: FastifyInstance, deps: HttpDeps, closing: AbortSignal): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'PUT',
    url: '/v1/actions/:actionId',
    bodyLimit: START_LIMIT_BYTES,
    config: { scope: SCOPE, sideEffects: 'external', ofCapability: true },
    schema: {
      operationId: 'startAction',
      summary: 'Starts an action, once: the same call again is answered with the same action.',
      tags: ['actions'],
      security: needs(SCOPE),
      params: ActionParams,
      querystring: StartActionQuery,
      body: StartActionBody,
      response: {
        200: answer(ENDED, Action),
        202: answer(LIVE, Action),
        ...problems(START_PROBLEMS),
      },
    },
    handler: async (request, reply) => {
      const call = { ...request.params, ...request.query, ...request.body };
      const action = await untilFirst([closing, hangUp(reply)], (signal) =>
        start(deps, request, { call, signal }),
      );
      return reply.code(action.closedAt === null ? 202 : 200).send(action);
    },
  });
}

function cancelRoute(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/v1/actions/:actionId/cancel',
    config: { scope: SCOPE, ofCapability: true },
    schema: {
      operationId: 'cancelAction',
      summary: 'Cancels an action, or says why that cannot be.',
      tags: ['actions'],
      security: needs(SCOPE),
      params: ActionParams,
      body: CancelActionBody,
      response: {
        200: answer('Decided.', CancelAnswer),
        202: answer('Its host is asked to stop; the action says when it has.', CancelAnswer),
        ...problems([
          ...EVERY_CALL,
          ...(['not_found', 'capability_not_permitted'] as const),
          ...(['capability_unavailable', 'body_too_large'] as const),
        ]),
      },
    },
    handler: async (request, reply) => {
      const answered = await cancel(deps, request, { ...request.params, ...request.body });
      return reply.code(answered.decision === 'requested' ? 202 : 200).send(answered);
    },
  });
}

async function start(
  deps: HttpDeps,
  request: FastifyRequest,
  { call, signal }: { readonly call: StartCall; readonly signal: AbortSignal },
): Promise<Action> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const { actionId, capabilityId, waitMs, affinityKey = null } = call;
  const ref: ActionRef = { tenantId, actionId };
  await requireUse(deps, principal, capabilityId);
  const { kind, detail = '' } = await deps.actions.start({
    ...ref,
    capabilityId,
    request: call.request,
    affinityKey,
    deadlineMs: call.deadlineMs,
    retryBudget: call.retryBudget,
    requestedBy: subject,
    ifCatalogRevision: call.ifCatalogRevision ?? null,
    approval: call.approval ?? null,
    awaitApproval: call.awaitApproval,
    policyDecision: call.policyDecision ?? null,
  });
  deps.log.info({ ...ref, capabilityId, requestedBy: subject, outcome: kind }, 'action asked for');
  if (kind === 'conflict') throw new WaybillError('action_conflict', detail);
  if (waitMs > 0) await deps.actions.closed(ref, waitMs, signal);
  return await started(deps, ref);
}

async function cancel(
  deps: HttpDeps,
  request: FastifyRequest,
  asked: z.output<typeof ActionParams> & z.output<typeof CancelActionBody>,
): Promise<CancelAnswer> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const ref: ActionRef = { tenantId, actionId: asked.actionId };
  await requireUseOf(deps, principal, ref);
  const who = { cancelledBy: subject, reason: asked.reason };
  const { kind } = await deps.actions.cancel(ref, who);
  deps.log.info({ ...ref, cancelledBy: subject, outcome: kind }, 'cancelling asked for');
  if (kind === 'unknown_action') throw new WaybillError('not_found');
  return { decision: kind, action: await started(deps, ref) };
}

/** An action that was started is never taken away. */
async function started(deps: HttpDeps, ref: ActionRef): Promise<Action> {
  const action = await readAction(deps, ref);
  if (action === null) throw new WaybillError('internal', 'an action that was started is gone');
  return action;
}
