/** Targets at work; pausing and resuming them and subscriptions. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listTargets, switchSubscription, switchTarget } from '../db/target-flow';
import { WaybillError } from '../domain/errors';
import {
  ListTargetsQuery,
  SubscriptionParams,
  SwitchAnswer,
  SwitchBody,
  TargetPage,
  TargetParams,
} from '../schemas/api-targets';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { KEY_PROBLEMS } from './idempotency';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const READ = 'factory.connections.read';
const OPERATE = 'factory.connections.operate';

/** Registers the routes on an instance that requires tokens. */
export function targetRoutes(app: FastifyInstance, deps: HttpDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/factory/targets',
    config: { scope: READ },
    schema: {
      operationId: 'listTargets',
      summary: 'Where deliveries go: breaker, pause, drain rate, and how many wait.',
      tags: ['deliveries'],
      security: needs(READ),
      querystring: ListTargetsQuery,
      response: {
        200: answer('One page.', TargetPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  for (const pause of [true, false]) {
    targetSwitch(app, deps, pause);
    subscriptionSwitch(app, deps, pause);
  }
}

function targetSwitch(app: FastifyInstance, deps: HttpDeps, pause: boolean): void {
  const verb = pause ? 'pause' : 'resume';
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: `/factory/targets/:targetId/${verb}`,
    config: { scope: OPERATE },
    schema: {
      operationId: `${verb}Target`,
      summary: pause
        ? 'Sends nothing to the target until it is resumed; its deliveries wait.'
        : 'Sends to the target again; what waited goes out at its drain rate.',
      tags: ['deliveries'],
      security: needs(OPERATE),
      params: TargetParams,
      body: SwitchBody,
      response: {
        200: answer('Decided.', SwitchAnswer),
        ...problems([...EVERY_CALL, 'not_found', 'body_too_large']),
      },
    },
    handler: async (request) => {
      const id = request.params.targetId;
      const outcome = await switchTarget(deps.data, {
        ...whoAsks(request),
        ...{ id, pause, reason: request.body.reason },
      });
      return answered(outcome, id, pause);
    },
  });
}

function subscriptionSwitch(app: FastifyInstance, deps: HttpDeps, pause: boolean): void {
  const verb = pause ? 'pause' : 'resume';
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: `/factory/subscriptions/:subscriptionId/${verb}`,
    config: { scope: OPERATE, idempotencyKey: 'optional' },
    schema: {
      operationId: `${verb}Subscription`,
      summary: pause
        ? 'Dispatches nothing of the subscription until it is resumed; it keeps collecting.'
        : 'Dispatches again, whatever paused it; what waited goes out at its drain rate.',
      tags: ['deliveries'],
      security: needs(OPERATE),
      params: SubscriptionParams,
      body: SwitchBody,
      response: {
        200: answer('Decided.', SwitchAnswer),
        ...problems([
          ...EVERY_CALL,
          ...KEY_PROBLEMS,
          ...(['not_found', 'subscription_deactivated', 'body_too_large'] as const),
        ]),
      },
    },
    handler: async (request) => {
      const id = request.params.subscriptionId;
      const outcome = await switchSubscription(deps.data, {
        ...whoAsks(request),
        ...{ id, pause, reason: request.body.reason },
      });
      if (outcome === 'deactivated') throw new WaybillError('subscription_deactivated');
      return answered(outcome, id, pause);
    },
  });
}

function whoAsks(request: FastifyRequest) {
  const { tenantId, subject } = principalOf(request);
  return { tenantId, actor: subject };
}

function answered(
  outcome: 'changed' | 'unchanged' | 'unknown',
  id: string,
  paused: boolean,
): SwitchAnswer {
  if (outcome === 'unknown') throw new WaybillError('not_found');
  return { id, paused, outcome };
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor }: z.output<typeof ListTargetsQuery>,
): Promise<TargetPage> {
  const { tenantId } = principalOf(request);
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope: { list: 'targets', tenantId, filters: {} }, limit, cursor },
    (position, count) =>
      listTargets(deps.data, { tenantId, after: position?.[0] ?? null, limit: count }),
    ({ targetId }) => [targetId, ''],
  );
  return { view: 'live', targets: rows, nextCursor };
}
