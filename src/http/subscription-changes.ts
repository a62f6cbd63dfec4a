/** Creating, changing and ending subscriptions, and rotating their ingresses, each one publication. */
import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Lane } from '../domain/lanes';
import { writtenRetry } from '../schemas/fleet/written-documents';
import type { RetryProfile } from '../schemas/retry-profiles';
import {
  ChangeSubscriptionBody,
  CreateSubscriptionBody,
  DeactivateSubscriptionBody,
  RotateIngressBody,
  Subscription,
} from '../schemas/api-subscriptions';
import { SubscriptionParams } from '../schemas/api-targets';
import type { SubscriptionChange } from '../schemas/subscription-wishes';
import {
  changeSubscription,
  createSubscription,
  deactivateSubscription,
  rotateIngress,
  type SubscriptionKey,
} from '../services/subscriptions';
import { principalOf } from './authorization';
import type { AdminDeps, HttpDeps } from './deps';
import { effectIdOf, KEY_PROBLEMS } from './idempotency';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readSubscription } from './subscriptions';

const SCOPE = 'factory.connections.admin';

const CHANGE_PROBLEMS = [
  ...EVERY_CALL,
  ...KEY_PROBLEMS,
  'not_found',
  'subscription_invalid',
  'publication_busy',
  'body_too_large',
] as const;

/** Registers the routes on an instance that requires tokens. */
export function subscriptionChangeRoutes(
  app: FastifyInstance,
  deps: HttpDeps,
  admin: AdminDeps,
): void {
  createRoute(app, deps, admin);
  changeRoute(app, deps, admin);
  deactivateRoute(app, deps, admin);
  rotateRoute(app, deps, admin);
}

function createRoute(app: FastifyInstance, deps: HttpDeps, { subscriptions }: AdminDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/factory/subscriptions',
    config: { scope: SCOPE, idempotencyKey: 'required', sideEffects: 'external' },
    schema: {
      operationId: 'createSubscription',
      summary: 'Subscribes to events of a connection, and makes the ingress that they come in by.',
      tags: ['subscriptions'],
      security: needs(SCOPE),
      body: CreateSubscriptionBody,
      response: {
        200: answer('It is there already, and the same.', Subscription),
        201: answer('Made; `ingress` says what to enter at the vendor.', Subscription),
        ...problems([
          ...EVERY_CALL,
          ...KEY_PROBLEMS,
          ...(['subscription_exists', 'subscription_invalid'] as const),
          ...(['publication_busy', 'body_too_large'] as const),
        ]),
      },
    },
    handler: async (request, reply) => {
      const { subscriptionId, instanceId: instance, ingress, ...rest } = request.body;
      const { bodyLimitBytes: bodyLimit, secrets } = ingress;
      const wish = { ...changes(rest), instance, ingress: { secrets, bodyLimit } };
      const key = keyOf(request, subscriptionId);
      const { targetId: target, eventTypes } = rest;
      const outcome = await createSubscription(
        subscriptions,
        key,
        { ...wish, target, eventTypes },
        { actor: principalOf(request).subject },
      );
      deps.log.info({ ...key, outcome }, 'subscription asked for');
      reply.code(outcome === 'created' ? 201 : 200);
      return readSubscription(deps, key.tenantId, key.subscriptionId);
    },
  });
}

function changeRoute(app: FastifyInstance, deps: HttpDeps, { subscriptions }: AdminDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'PATCH',
    url: '/factory/subscriptions/:subscriptionId',
    config: { scope: SCOPE, idempotencyKey: 'optional' },
    schema: {
      operationId: 'changeSubscription',
      summary: 'Changes the fields that are named, and leaves the others.',
      tags: ['subscriptions'],
      security: needs(SCOPE),
      params: SubscriptionParams,
      body: ChangeSubscriptionBody,
      response: {
        200: answer('The subscription as it is now.', Subscription),
        ...problems(CHANGE_PROBLEMS),
      },
    },
    handler: async (request) => {
      const { ingress, ...rest } = request.body;
      const key = keyOf(request, request.params.subscriptionId);
      const wish = {
        ...changes(rest),
        ...(ingress && {
          ingress: {
            ...(ingress.secrets && { secrets: ingress.secrets }),
            ...(ingress.bodyLimitBytes && { bodyLimit: ingress.bodyLimitBytes }),
          },
        }),
      };
      await changeSubscription(subscriptions, key, wish, { actor: principalOf(request).subject });
      deps.log.info(key, 'subscription changed');
      return readSubscription(deps, key.tenantId, key.subscriptionId);
    },
  });
}

function deactivateRoute(app: FastifyInstance, deps: HttpDeps, { subscriptions }: AdminDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/factory/subscriptions/:subscriptionId/deactivate',
    config: { scope: SCOPE, idempotencyKey: 'optional' },
    schema: {
      operationId: 'deactivateSubscription',
      summary: 'Ends a subscription: its ingress answers 410, and what is pending fails.',
      tags: ['subscriptions'],
      security: needs(SCOPE),
      params: SubscriptionParams,
      body: DeactivateSubscriptionBody,
      response: {
        200: answer('Ended; two calls are one.', Subscription),
        ...problems(CHANGE_PROBLEMS),
      },
    },
    handler: async (request) => {
      const key = keyOf(request, request.params.subscriptionId);
      const { reason } = request.body;
      const publisher = { actor: principalOf(request).subject, reason };
      await deactivateSubscription(subscriptions, key, publisher);
      deps.log.info(key, 'subscription deactivated');
      return readSubscription(deps, key.tenantId, key.subscriptionId);
    },
  });
}

function rotateRoute(app: FastifyInstance, deps: HttpDeps, { subscriptions }: AdminDeps): void {
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/factory/subscriptions/:subscriptionId/ingress/rotate',
    config: { scope: SCOPE, idempotencyKey: 'required' },
    schema: {
      operationId: 'rotateIngress',
      summary: 'Gives the ingress a new address; the old one works for a while.',
      tags: ['subscriptions'],
      security: needs(SCOPE),
      params: SubscriptionParams,
      body: RotateIngressBody,
      response: {
        200: answer(
          '`ingress` has the new address, and until when the old one works.',
          Subscription,
        ),
        ...problems(CHANGE_PROBLEMS),
      },
    },
    handler: async (request) => {
      const key = keyOf(request, request.params.subscriptionId);
      const { oldUntil = null } = request.body;
      const publisher = { actor: principalOf(request).subject };
      const ref = ingressRefOf(request, deps, subscriptions.newIngressRef);
      await rotateIngress(subscriptions, key, { ref, oldUntil }, publisher);
      deps.log.info(key, 'ingress rotated');
      return readSubscription(deps, key.tenantId, key.subscriptionId);
    },
  });
}

/** The same for every try of one key; whoever knows that, or the key's row, cannot tell it. */
function ingressRefOf(
  request: FastifyRequest,
  { cursorKey }: HttpDeps,
  newRef: () => string,
): string {
  const effectId = effectIdOf(request);
  if (effectId === null) return newRef();
  return createHmac('sha256', cursorKey).update(`ingress/${effectId}`).digest('hex').slice(0, 32);
}

function keyOf(request: FastifyRequest, subscriptionId: string): SubscriptionKey {
  return { tenantId: principalOf(request).tenantId, subscriptionId };
}

interface Changes {
  readonly targetId?: string | undefined;
  readonly eventTypes?: readonly string[] | undefined;
  readonly retry?: RetryProfile | null | undefined;
  readonly lane?: Lane | undefined;
  readonly drainPerSecond?: number | null | undefined;
}

/** In the words of a fleet file; what is left out stays out. */
function changes(wished: Changes): SubscriptionChange {
  const { targetId, eventTypes, retry, lane, drainPerSecond } = wished;
  return {
    ...(targetId === undefined ? {} : { target: targetId }),
    ...(eventTypes === undefined ? {} : { eventTypes }),
    ...(retry === undefined ? {} : { retry: writtenRetry(retry) ?? null }),
    ...(lane === undefined ? {} : { lane }),
    ...(drainPerSecond === undefined ? {} : { drainPerSecond }),
  };
}
