/** A client of the HTTP API, with answers and problems as the API's own schemas say. */
import type { z } from 'zod';
import {
  Action,
  ActionPage,
  CancelAnswer,
  type ListActionsQuery,
  type StartActionBody,
} from '../../schemas/api-actions';
import {
  CapabilityDetail,
  CapabilityPage,
  type ListCapabilitiesQuery,
  type ShowCapabilityQuery,
} from '../../schemas/api-capabilities';
import { Delivered, type DeliverBody } from '../../schemas/api-deliver';
import {
  DeliveryHistory,
  DeliveryPage,
  ReplayAccepted,
  type ListDeliveriesQuery,
  type ReplayBody,
} from '../../schemas/api-deliveries';
import {
  EventPage,
  EventSinkPage,
  type ListEventSinksQuery,
  type ListEventsQuery,
} from '../../schemas/api-events';
import { TenantFleet, type FleetStatusQuery } from '../../schemas/api-fleet';
import { KeySet } from '../../schemas/api-health';
import { PlanAnswer, type VerifyPlanBody } from '../../schemas/api-plans';
import { Readmitted } from '../../schemas/api-readmissions';
import { QuotaPage, type ListQuotasQuery } from '../../schemas/api-quotas';
import {
  AttemptPage,
  RepinAnswer,
  type ListAttemptsQuery,
} from '../../schemas/api-route-operations';
import { RouteDetail, RoutePage, type ListRoutesQuery } from '../../schemas/api-routes';
import { createWaybillClient, type WaybillClient } from '../../client';
import { ConnectorsClient } from './api-connectors';
import { DecisionsClient } from './api-decisions';
import { given, type Given } from './api-parameters';
import { ReplaysClient } from './api-replays';
import { SubscriptionsClient } from './api-subscriptions';
import { answered, stream, type ApiCall, type Ask, type CallHow } from './api-transport';
import { SwitchAnswer, TargetPage, type ListTargetsQuery } from '../../schemas/api-targets';

const TIMEOUT_MS = 30_000;

type Verb = 'pause' | 'resume';

export type ListQuery = z.input<typeof ListDeliveriesQuery>;

export class ApiClient {
  readonly #base: string;
  readonly #token: string;
  readonly #api: WaybillClient;
  readonly #asks: Ask = (schema, call) => this.#ask(schema, call);
  readonly connectors = new ConnectorsClient(this.#asks);
  readonly decisions = new DecisionsClient(this.#asks);
  readonly replays = new ReplaysClient(this.#asks);
  readonly subscriptions = new SubscriptionsClient(this.#asks);

  /** @param base without a path, e.g. `http://127.0.0.1:7380` */
  constructor(base: string, token: string) {
    this.#base = base.replace(/\/+$/, '');
    this.#token = token;
    // A person who waits at a terminal is told at once.
    this.#api = createWaybillClient({ baseUrl: base, token, retries: 0 });
  }

  list(query: ListQuery): Promise<DeliveryPage> {
    return this.#ask(DeliveryPage, (api, how) =>
      api.GET('/factory/deliveries', { params: { query: given(query) }, ...how }),
    );
  }

  show(deliveryId: string): Promise<DeliveryHistory> {
    return this.#ask(DeliveryHistory, (api, how) =>
      api.GET('/factory/deliveries/{deliveryId}', { params: { path: { deliveryId } }, ...how }),
    );
  }

  replay(
    deliveryId: string,
    reason: string,
    more: Omit<z.input<typeof ReplayBody>, 'reason'> = {},
  ): Promise<ReplayAccepted> {
    const call = { params: { path: { deliveryId } }, body: given({ reason, ...more }) };
    return this.#ask(ReplayAccepted, (api, how) =>
      api.POST('/factory/deliveries/{deliveryId}/replay', { ...call, ...how }),
    );
  }

  /** Waits up to `waitMs` of the body for its end; what is answered may still be under way. */
  deliver(key: string, body: z.input<typeof DeliverBody>): Promise<Delivered> {
    const call = { params: { header: { 'idempotency-key': key } }, body: given(body) };
    return this.#ask(
      Delivered,
      (api, how) => api.POST('/v1/deliver', { ...call, ...how }),
      TIMEOUT_MS + (body.waitMs ?? 0),
    );
  }

  listTargets(query: z.input<typeof ListTargetsQuery>): Promise<TargetPage> {
    return this.#ask(TargetPage, (api, how) =>
      api.GET('/factory/targets', { params: { query: given(query) }, ...how }),
    );
  }

  switch(
    what: 'targets' | 'subscriptions',
    { id, verb, reason }: { readonly id: string; readonly verb: Verb; readonly reason: string },
  ): Promise<SwitchAnswer> {
    const body = { reason };
    return this.#ask(SwitchAnswer, (api, how) =>
      what === 'targets'
        ? api.POST(`/factory/targets/{targetId}/${verb}`, {
            ...{ params: { path: { targetId: id } }, body, ...how },
          })
        : api.POST(`/factory/subscriptions/{subscriptionId}/${verb}`, {
            ...{ params: { path: { subscriptionId: id } }, body, ...how },
          }),
    );
  }

  readmit(deliveryId: string, reason: string): Promise<Readmitted> {
    const call = { params: { path: { deliveryId } }, body: { reason } };
    return this.#ask(Readmitted, (api, how) =>
      api.POST('/factory/deliveries/{deliveryId}/readmit', { ...call, ...how }),
    );
  }

  listActions(query: z.input<typeof ListActionsQuery>): Promise<ActionPage> {
    return this.#ask(ActionPage, (api, how) =>
      api.GET('/v1/actions', { params: { query: given(query) }, ...how }),
    );
  }

  showAction(actionId: string): Promise<Action> {
    return this.#ask(Action, (api, how) =>
      api.GET('/v1/actions/{actionId}', { params: { path: { actionId } }, ...how }),
    );
  }

  /** Waits up to `waitMs` for its end; what is answered may still be under way. */
  startAction(
    actionId: string,
    body: z.input<typeof StartActionBody>,
    waitMs: number,
  ): Promise<Action> {
    const params = { path: { actionId }, query: { waitMs: String(waitMs) } };
    return this.#ask(
      Action,
      (api, how) => api.PUT('/v1/actions/{actionId}', { params, body: given(body), ...how }),
      TIMEOUT_MS + waitMs,
    );
  }

  cancelAction(actionId: string, reason: string): Promise<CancelAnswer> {
    const call = { params: { path: { actionId } }, body: { reason } };
    return this.#ask(CancelAnswer, (api, how) =>
      api.POST('/v1/actions/{actionId}/cancel', { ...call, ...how }),
    );
  }

  listCapabilities(query: z.input<typeof ListCapabilitiesQuery>): Promise<CapabilityPage> {
    return this.#ask(CapabilityPage, (api, how) =>
      api.GET('/v1/capabilities', { params: { query: given(query) }, ...how }),
    );
  }

  showCapability(
    capabilityId: string,
    query: z.input<typeof ShowCapabilityQuery>,
  ): Promise<CapabilityDetail> {
    const params = { path: { capabilityId }, query: given(query) };
    return this.#ask(CapabilityDetail, (api, how) =>
      api.GET('/v1/capabilities/{capabilityId}', { params, ...how }),
    );
  }

  /** @param plan as written: the API says what is wrong with it */
  verifyPlan(plan: object): Promise<PlanAnswer> {
    const body = plan as Given<z.input<typeof VerifyPlanBody>>;
    return this.#ask(PlanAnswer, (api, how) => api.POST('/v1/plans/verify', { body, ...how }));
  }

  repinAction(actionId: string, reason: string): Promise<RepinAnswer> {
    const call = { params: { path: { actionId } }, body: { reason } };
    return this.#ask(RepinAnswer, (api, how) =>
      api.POST('/v1/actions/{actionId}/repin', { ...call, ...how }),
    );
  }

  listAttempts(query: z.input<typeof ListAttemptsQuery>): Promise<AttemptPage> {
    return this.#ask(AttemptPage, (api, how) =>
      api.GET('/v1/route-attempts', { params: { query: given(query) }, ...how }),
    );
  }

  listQuotas(query: z.input<typeof ListQuotasQuery>): Promise<QuotaPage> {
    return this.#ask(QuotaPage, (api, how) =>
      api.GET('/v1/quotas', { params: { query: given(query) }, ...how }),
    );
  }

  listEvents(query: z.input<typeof ListEventsQuery>): Promise<EventPage> {
    return this.#ask(EventPage, (api, how) =>
      api.GET('/v1/events', { params: { query: given(query) }, ...how }),
    );
  }

  listEventSinks(query: z.input<typeof ListEventSinksQuery>): Promise<EventSinkPage> {
    return this.#ask(EventSinkPage, (api, how) =>
      api.GET('/v1/event-sinks', { params: { query: given(query) }, ...how }),
    );
  }

  listRoutes(query: z.input<typeof ListRoutesQuery>): Promise<RoutePage> {
    return this.#ask(RoutePage, (api, how) =>
      api.GET('/v1/routes', { params: { query: given(query) }, ...how }),
    );
  }

  showRoute(actionId: string): Promise<RouteDetail> {
    return this.#ask(RouteDetail, (api, how) =>
      api.GET('/v1/routes/{actionId}', { params: { path: { actionId } }, ...how }),
    );
  }

  fleetStatus(query: z.input<typeof FleetStatusQuery>): Promise<TenantFleet> {
    return this.#ask(TenantFleet, (api, how) =>
      api.GET('/v1/fleet/status', { params: { query: given(query) }, ...how }),
    );
  }

  /** The lines of the tenant's export, in whatever parts they come. */
  exportReceipts(): AsyncIterable<Uint8Array> {
    const request = { headers: { authorization: `Bearer ${this.#token}` } };
    return stream(`${this.#base}/v1/receipts/export`, request);
  }

  #ask<Answer extends z.ZodType>(
    schema: Answer,
    call: ApiCall,
    timeoutMs = TIMEOUT_MS,
  ): Promise<z.output<Answer>> {
    return answered(schema, this.#base, { timeoutMs, call: (how) => call(this.#api, how) });
  }
}

/** The public keys at an address, e.g. `http://127.0.0.1:7380/.well-known/jwks.json`. */
export function fetchKeySet(url: string): Promise<z.output<typeof KeySet>> {
  const call = async (how: CallHow) => {
    const headers = { accept: 'application/json' };
    const response = await fetch(url, { headers, redirect: 'error', ...how });
    const content: unknown = await response.json();
    return response.ok ? { data: content, response } : { error: content, response };
  };
  return answered(KeySet, url, { timeoutMs: TIMEOUT_MS, call });
}
