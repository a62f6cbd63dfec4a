/** The tenant's subscriptions and their ingresses. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listSubscriptions, showSubscription } from '../db/subscriptions';
import { WaybillError } from '../domain/errors';
import type { TenantId } from '../domain/ids';
import type { SubscriptionFacts } from '../schemas/api-subscriptions';
import {
  ListSubscriptionsQuery,
  Subscription,
  SubscriptionPage,
} from '../schemas/api-subscriptions';
import { SubscriptionParams } from '../schemas/api-targets';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { ingressUrl } from './ingress-requests';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const SCOPE = 'factory.connections.read';

/** Registers the routes on an instance that requires tokens. */
export function subscriptionRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/factory/subscriptions',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listSubscriptions',
      summary: 'Subscriptions by id, with what to enter at the vendor.',
      tags: ['subscriptions'],
      security: needs(SCOPE),
      querystring: ListSubscriptionsQuery,
      response: {
        200: answer('One page.', SubscriptionPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/factory/subscriptions/:subscriptionId',
    config: { scope: SCOPE },
    schema: {
      operationId: 'showSubscription',
      summary: 'One subscription, with what to enter at the vendor.',
      tags: ['subscriptions'],
      security: needs(SCOPE),
      params: SubscriptionParams,
      response: {
        200: answer('The subscription.', Subscription),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: (request) =>
      readSubscription(deps, principalOf(request).tenantId, request.params.subscriptionId),
  });
}

/**
 * The subscription as the API shows it.
 * @throws WaybillError `not_found`
 */
export async function readSubscription(
  deps: Pick<HttpDeps, 'data' | 'publicBaseUrl'>,
  tenantId: TenantId,
  subscriptionId: string,
): Promise<Subscription> {
  const found = await showSubscription(deps.data, tenantId, subscriptionId);
  if (found === null) throw new WaybillError('not_found');
  return shown(deps, found);
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor }: z.output<typeof ListSubscriptionsQuery>,
): Promise<SubscriptionPage> {
  const { tenantId } = principalOf(request);
  const scope = { list: 'subscriptions', tenantId, filters: {} } as const;
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope, limit, cursor },
    (position, count) =>
      listSubscriptions(deps.data, { tenantId, after: position?.[0] ?? null, limit: count }),
    ({ subscriptionId }) => [subscriptionId, ''],
  );
  return { view: 'live', subscriptions: rows.map((row) => shown(deps, row)), nextCursor };
}

function shown(
  { publicBaseUrl }: Pick<HttpDeps, 'publicBaseUrl'>,
  { scheme, signatureField, ingress, ...rest }: SubscriptionFacts,
): Subscription {
  return {
    ...rest,
    active: rest.state === 'active',
    ingress: ingress && {
      ...ingress,
      url: ingressUrl(publicBaseUrl, ingress.ref),
      scheme,
      signatureField,
    },
  };
}
