/** What people decide about actions: whether one may be done, and what became of one. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import type { ActionRef } from '../domain/action-service';
import type { ApprovalAnswer } from '../domain/approvals';
import { WaybillError } from '../domain/errors';
import { ApprovalAnswered, ResolveAnswer, ResolveBody } from '../schemas/api-action-decisions';
import { type Action, ActionParams } from '../schemas/api-actions';
import { DecideBody } from '../schemas/api-approvals';
import { readAction } from './actions';
import { requireUseOf } from './action-limits';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { HttpProblem } from './problems';

const APPROVE = 'factory.actions.approve';
const OPERATE = 'factory.actions.operate';

const DECISIONS = {
  approve: {
    decision: 'approved',
    operationId: 'approveAction',
    summary: 'Approves an action that waits for it; the first decision counts.',
    done: 'It may be sent.',
    refusals: ['approval_not_waiting', 'approver_is_requester'],
  },
  deny: {
    decision: 'denied',
    operationId: 'denyAction',
    summary: 'Denies an action that waits for an approval, which fails it.',
    done: 'It has failed, and nothing of it was begun.',
    refusals: ['approval_not_waiting'],
  },
} as const;

const FOR_EACH = [
  ...EVERY_CALL,
  ...(['not_found', 'capability_not_permitted', 'capability_unavailable'] as const),
  'body_too_large',
] as const;

type Verb = keyof typeof DECISIONS;

/** Registers the routes on an instance that requires tokens. */
export function actionDecisionRoutes(app: FastifyInstance, deps: HttpDeps): void {
  decisionRoute(app, deps, 'approve');
  decisionRoute(app, deps, 'deny');
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/v1/actions/:actionId/resolve',
    config: { scope: OPERATE, ofCapability: true },
    schema: {
      operationId: 'resolveAction',
      summary: 'Says what became of an action that needs an operator.',
      tags: ['actions'],
      security: needs(OPERATE),
      params: ActionParams,
      body: ResolveBody,
      response: {
        200: answer('Written.', ResolveAnswer),
        ...problems([...FOR_EACH, 'resolution_refused']),
      },
    },
    handler: (request) => resolve(deps, request, { ...request.params, ...request.body }),
  });
}

function decisionRoute(app: FastifyInstance, deps: HttpDeps, verb: Verb): void {
  const { operationId, summary, done, refusals } = DECISIONS[verb];
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: `/v1/actions/:actionId/${verb}`,
    config: { scope: APPROVE, ofCapability: true },
    schema: {
      operationId,
      summary,
      tags: ['actions'],
      security: needs(APPROVE),
      params: ActionParams,
      body: DecideBody,
      response: {
        200: answer(done, ApprovalAnswered),
        ...problems([...FOR_EACH, ...refusals]),
      },
    },
    handler: (request) => decide(deps, request, verb),
  });
}

async function decide(
  deps: HttpDeps,
  request: FastifyRequest<{
    Params: z.output<typeof ActionParams>;
    Body: z.output<typeof DecideBody>;
  }>,
  verb: Verb,
): Promise<ApprovalAnswered> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const ref = { tenantId, actionId: request.params.actionId };
  await requireUseOf(deps, principal, ref);
  const { decision } = DECISIONS[verb];
  const wish = { decision, by: subject, reason: request.body.reason };
  const answered = await deps.actions.decide(ref, wish);
  deps.log.info({ ...ref, decision, by: subject, outcome: answered.kind }, 'approval decided');
  return { decision: decidedAs(answered, decision), action: await decided(deps, ref) };
}

function decidedAs<Decision>(answered: ApprovalAnswer, decision: Decision): Decision | 'already' {
  switch (answered.kind) {
    case 'decided':
      return decision;
    case 'already':
      return 'already';
    case 'unknown_action':
      throw new WaybillError('not_found');
    case 'approver_is_requester':
      throw new WaybillError('approver_is_requester');
    case 'approval_refused':
      throw new WaybillError('approval_refused', answered.reason);
    case 'not_waiting': {
      const { state, approval } = answered;
      const was = approval === null ? 'no approval was asked for' : `its approval is ${approval}`;
      throw new HttpProblem('approval_not_waiting', `The action is ${state}: ${was}.`, {
        extra: { state, ...(approval === null ? {} : { reason: approval }) },
      });
    }
  }
}

async function resolve(
  deps: HttpDeps,
  request: FastifyRequest,
  { actionId, outcome, reason }: z.output<typeof ActionParams> & z.output<typeof ResolveBody>,
): Promise<ResolveAnswer> {
  const principal = principalOf(request);
  const { tenantId, subject } = principal;
  const ref = { tenantId, actionId };
  await requireUseOf(deps, principal, ref);
  const answered = await deps.actions.resolve(ref, { outcome, reason, by: subject });
  const { kind } = answered;
  deps.log.info({ ...ref, resolvedBy: subject, outcome, answer: kind }, 'resolution asked for');
  if (answered.kind === 'unknown_action') throw new WaybillError('not_found');
  if (answered.kind === 'not_waiting') {
    const { state } = answered;
    throw new HttpProblem('resolution_refused', `The action is ${state}.`, { extra: { state } });
  }
  return { decision: 'resolved', action: await decided(deps, ref) };
}

async function decided(deps: HttpDeps, ref: ActionRef): Promise<Action> {
  const action = await readAction(deps, ref);
  if (action === null) throw new WaybillError('internal', 'an action that was decided is gone');
  return action;
}
