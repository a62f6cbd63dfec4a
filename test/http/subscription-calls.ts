/** What tests of a tenant's own subscriptions share: the calls, and a subscription that can be made. */
import type { Subscription } from '../../src/schemas/api-subscriptions';
import { problem, type Answer, type Harness } from './harness';

const ADMIN = ['factory.connections.admin', 'factory.connections.read'];

interface Asked {
  readonly method?: string;
  readonly tenant?: string;
  readonly key?: string;
  readonly scopes?: readonly string[];
}

export class SubscriptionCalls {
  readonly #h: Harness;
  #keys = 0;

  constructor(h: Harness) {
    this.#h = h;
  }

  /** A call below /factory/subscriptions, under a new key unless told. */
  async ask<Body = Subscription>(
    path: string,
    json?: unknown,
    { method, tenant = 'acme', key = `k-${(this.#keys += 1)}`, scopes = ADMIN }: Asked = {},
  ): Promise<Answer<Body>> {
    const token = await this.#h.token({ tenant, scopes });
    const response = await fetch(`${this.#h.url}/factory/subscriptions${path}`, {
      method: method ?? (json === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${token}`,
        'idempotency-key': key,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const body = (await response.json()) as Body;
    return { status: response.status, headers: response.headers, body };
  }

  /** Of the catalog. */
  async revision() {
    const text = 'select revision from waybill.catalog_revision';
    return (await this.#h.db.rows<{ revision: string }>(text))[0];
  }

  /** What was told of the subscription, in order: whether it is active. */
  async events(id: string): Promise<boolean[]> {
    const rows = await this.#h.db.rows<{ active: boolean }>(
      `select (payload->>'active')::boolean as active from waybill.outbox_events
        where aggregate = $1 and topic like '%subscription-changed' order by aggregate_seq`,
      [`subscription/${id}`],
    );
    return rows.map(({ active }) => active);
  }
}

export async function refused(answer: Promise<Answer<Subscription>>) {
  const { status, headers, body } = await answer;
  return problem({ status, headers, body: { ...body } });
}

export const wish = (subscriptionId: string, more: object = {}) => ({
  ...{ subscriptionId, instanceId: 'main', targetId: 'given-target' },
  ...{ eventTypes: ['push'], ingress: { secrets: [{ id: 's1', ref: 'env:TEST_INGRESS_SECRET' }] } },
  ...more,
});
