/** The calls of the HTTP API about subscriptions. */
import type { z } from 'zod';
import {
  Subscription,
  SubscriptionPage,
  type CreateSubscriptionBody,
  type ListSubscriptionsQuery,
} from '../../schemas/api-subscriptions';
import { given, newKey, type Given } from './api-parameters';
import type { Ask } from './api-transport';

export class SubscriptionsClient {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  list(query: z.input<typeof ListSubscriptionsQuery>): Promise<SubscriptionPage> {
    return this.#ask(SubscriptionPage, (api, how) =>
      api.GET('/factory/subscriptions', { params: { query: given(query) }, ...how }),
    );
  }

  show(subscriptionId: string): Promise<Subscription> {
    const params = { path: { subscriptionId } };
    return this.#ask(Subscription, (api, how) =>
      api.GET('/factory/subscriptions/{subscriptionId}', { params, ...how }),
    );
  }

  /** @param body as written: the API says what is wrong with it */
  create(body: object): Promise<Subscription> {
    return this.#ask(Subscription, (api, how) =>
      api.POST('/factory/subscriptions', {
        ...{
          params: newKey(),
          body: body as Given<z.input<typeof CreateSubscriptionBody>>,
          ...how,
        },
      }),
    );
  }

  /** @param body as `create` */
  change(subscriptionId: string, body: object): Promise<Subscription> {
    const params = { path: { subscriptionId } };
    return this.#ask(Subscription, (api, how) =>
      api.PATCH('/factory/subscriptions/{subscriptionId}', {
        ...{ params, body, ...how },
      }),
    );
  }

  deactivate(subscriptionId: string, reason: string): Promise<Subscription> {
    const params = { path: { subscriptionId } };
    return this.#ask(Subscription, (api, how) =>
      api.POST('/factory/subscriptions/{subscriptionId}/deactivate', {
        ...{ params, body: { reason }, ...how },
      }),
    );
  }

  /** @param oldUntil an instant; left out: a day from now */
  rotateIngress(subscriptionId: string, oldUntil: string | undefined): Promise<Subscription> {
    const params = { path: { subscriptionId }, ...newKey() };
    return this.#ask(Subscription, (api, how) =>
      api.POST('/factory/subscriptions/{subscriptionId}/ingress/rotate', {
        ...{ params, body: given({ oldUntil }), ...how },
      }),
    );
  }
}
