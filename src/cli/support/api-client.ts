/** A client of the HTTP API, with answers and problems as the API's own schemas say. */
import type { z } from 'zod';
import type { BulkReplayMove } from '../../domain/bulk-replays';
import {
  ApprovalAnswered,
  ResolveAnswer,
  type ResolveBody,
} from '../../schemas/api-action-decisions';
import {
  Action,
  ActionPage,
  CancelAnswer,
  type ListActionsQuery,
  type StartActionBody,
} from '../../schemas/api-actions';
import { ApprovalPage, type ListApprovalsQuery } from '../../schemas/api-approvals';
import {
  BulkReplay,
  BulkReplayPage,
  ReplayItemPage,
  type ListBulkReplaysQuery,
  type ListReplayItemsQuery,
  type PlanReplayBody,
} from '../../schemas/api-bulk-replays';
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
import { PlanAnswer } from '../../schemas/api-plans';
import { Readmitted } from '../../schemas/api-readmissions';
import { QuotaPage, type ListQuotasQuery } from '../../schemas/api-quotas';
import {
  AttemptPage,
  RepinAnswer,
  type ListAttemptsQuery,
} from '../../schemas/api-route-operations';
import { RouteDetail, RoutePage, type ListRoutesQuery } from '../../schemas/api-routes';
import { ask, stream } from './api-transport';
import { SwitchAnswer, TargetPage, type ListTargetsQuery } from '../../schemas/api-targets';

const TIMEOUT_MS = 30_000;

export type ListQuery = z.input<typeof ListDeliveriesQuery>;

export class ApiClient {
  readonly #base: string;
  readonly #token: string;

  /** @param base without a path, e.g. `http://127.0.0.1:7380` */
  constructor(base: string, token: string) {
    this.#base = base.replace(/\/+$/, '');
    this.#token = token;
  }

  list(query: ListQuery): Promise<DeliveryPage> {
    return this.#call(DeliveryPage, 'GET', `/factory/deliveries${search(query)}`);
  }

  show(deliveryId: string): Promise<DeliveryHistory> {
    return this.#call(DeliveryHistory, 'GET', deliveryPath(deliveryId));
  }

  replay(
    deliveryId: string,
    reason: string,
    more: Omit<z.input<typeof ReplayBody>, 'reason'> = {},
  ): Promise<ReplayAccepted> {
    const body = { reason, ...more };
    return this.#call(ReplayAccepted, 'POST', `${deliveryPath(deliveryId)}/replay`, { body });
  }

  /** Waits up to `waitMs` of the body for its end; what is answered may still be under way. */
  deliver(key: string, body: z.input<typeof DeliverBody>): Promise<Delivered> {
    const headers = { 'idempotency-key': key };
    const timeoutMs = TIMEOUT_MS + (body.waitMs ?? 0);
    return this.#call(Delivered, 'POST', '/v1/deliver', { body, headers, timeoutMs });
  }

  listTargets(query: z.input<typeof ListTargetsQuery>): Promise<TargetPage> {
    return this.#call(TargetPage, 'GET', `/factory/targets${search(query)}`);
  }

  switch(
    what: 'targets' | 'subscriptions',
    { id, verb, reason }: { readonly id: string; readonly verb: string; readonly reason: string },
  ): Promise<SwitchAnswer> {
    const path = `/factory/${what}/${encodeURIComponent(id)}/${verb}`;
    return this.#call(SwitchAnswer, 'POST', path, { body: { reason } });
  }

  planReplay(body: PlanReplayBody): Promise<BulkReplay> {
    return this.#call(BulkReplay, 'POST', '/v1/replays', { body });
  }

  /** @param reason for the audit log; left out: none is given */
  moveReplay(jobId: string, move: BulkReplayMove, reason?: string): Promise<BulkReplay> {
    const body = reason === undefined ? {} : { reason };
    return this.#call(BulkReplay, 'POST', `${replayPath(jobId)}/${move}`, { body });
  }

  showReplay(jobId: string): Promise<BulkReplay> {
    return this.#call(BulkReplay, 'GET', replayPath(jobId));
  }

  listReplays(query: z.input<typeof ListBulkReplaysQuery>): Promise<BulkReplayPage> {
    return this.#call(BulkReplayPage, 'GET', `/v1/replays${search(query)}`);
  }

  listReplayItems(
    jobId: string,
    query: z.input<typeof ListReplayItemsQuery>,
  ): Promise<ReplayItemPage> {
    return this.#call(ReplayItemPage, 'GET', `${replayPath(jobId)}/items${search(query)}`);
  }

  readmit(deliveryId: string, reason: string): Promise<Readmitted> {
    return this.#call(Readmitted, 'POST', `${deliveryPath(deliveryId)}/readmit`, {
      body: { reason },
    });
  }

  listActions(query: z.input<typeof ListActionsQuery>): Promise<ActionPage> {
    return this.#call(ActionPage, 'GET', `/v1/actions${search(query)}`);
  }

  showAction(actionId: string): Promise<Action> {
    return this.#call(Action, 'GET', actionPath(actionId));
  }

  /** Waits up to `waitMs` for its end; what is answered may still be under way. */
  startAction(
    actionId: string,
    body: z.input<typeof StartActionBody>,
    waitMs: number,
  ): Promise<Action> {
    const path = `${actionPath(actionId)}${search({ waitMs: String(waitMs) })}`;
    return this.#call(Action, 'PUT', path, { body, timeoutMs: TIMEOUT_MS + waitMs });
  }

  cancelAction(actionId: string, reason: string): Promise<CancelAnswer> {
    return this.#call(CancelAnswer, 'POST', `${actionPath(actionId)}/cancel`, { body: { reason } });
  }

  listCapabilities(query: z.input<typeof ListCapabilitiesQuery>): Promise<CapabilityPage> {
    return this.#call(CapabilityPage, 'GET', `/v1/capabilities${search(query)}`);
  }

  showCapability(
    capabilityId: string,
    query: z.input<typeof ShowCapabilityQuery>,
  ): Promise<CapabilityDetail> {
    const path = `/v1/capabilities/${encodeURIComponent(capabilityId)}${search(query)}`;
    return this.#call(CapabilityDetail, 'GET', path);
  }

  /** @param plan as written: the API says what is wrong with it */
  verifyPlan(plan: object): Promise<PlanAnswer> {
    return this.#call(PlanAnswer, 'POST', '/v1/plans/verify', { body: plan });
  }

  repinAction(actionId: string, reason: string): Promise<RepinAnswer> {
    return this.#call(RepinAnswer, 'POST', `${actionPath(actionId)}/repin`, { body: { reason } });
  }

  resolveAction(actionId: string, body: z.input<typeof ResolveBody>): Promise<ResolveAnswer> {
    return this.#call(ResolveAnswer, 'POST', `${actionPath(actionId)}/resolve`, { body });
  }

  listApprovals(query: z.input<typeof ListApprovalsQuery>): Promise<ApprovalPage> {
    return this.#call(ApprovalPage, 'GET', `/v1/approvals${search(query)}`);
  }

  decideAction(
    actionId: string,
    verb: 'approve' | 'deny',
    reason: string,
  ): Promise<ApprovalAnswered> {
    const path = `${actionPath(actionId)}/${verb}`;
    return this.#call(ApprovalAnswered, 'POST', path, { body: { reason } });
  }

  listAttempts(query: z.input<typeof ListAttemptsQuery>): Promise<AttemptPage> {
    return this.#call(AttemptPage, 'GET', `/v1/route-attempts${search(query)}`);
  }

  listQuotas(query: z.input<typeof ListQuotasQuery>): Promise<QuotaPage> {
    return this.#call(QuotaPage, 'GET', `/v1/quotas${search(query)}`);
  }

  listEvents(query: z.input<typeof ListEventsQuery>): Promise<EventPage> {
    return this.#call(EventPage, 'GET', `/v1/events${search(query)}`);
  }

  listEventSinks(query: z.input<typeof ListEventSinksQuery>): Promise<EventSinkPage> {
    return this.#call(EventSinkPage, 'GET', `/v1/event-sinks${search(query)}`);
  }

  listRoutes(query: z.input<typeof ListRoutesQuery>): Promise<RoutePage> {
    return this.#call(RoutePage, 'GET', `/v1/routes${search(query)}`);
  }

  showRoute(actionId: string): Promise<RouteDetail> {
    return this.#call(RouteDetail, 'GET', `/v1/routes/${encodeURIComponent(actionId)}`);
  }

  fleetStatus(query: z.input<typeof FleetStatusQuery>): Promise<TenantFleet> {
    return this.#call(TenantFleet, 'GET', `/v1/fleet/status${search(query)}`);
  }

  /** The lines of the tenant's export, in whatever parts they come. */
  exportReceipts(): AsyncIterable<Uint8Array> {
    const request = { headers: { authorization: `Bearer ${this.#token}` } };
    return stream(`${this.#base}/v1/receipts/export`, request);
  }

  async #call<Answer extends z.ZodType>(
    schema: Answer,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    sent: {
      readonly body?: object;
      readonly headers?: Readonly<Record<string, string>>;
      readonly timeoutMs?: number;
    } = {},
  ): Promise<z.output<Answer>> {
    const authorization = `Bearer ${this.#token}`;
    const headers = { authorization, accept: 'application/json', ...sent.headers };
    const { body, timeoutMs = TIMEOUT_MS } = sent;
    const request = {
      method,
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    };
    return await ask(schema, `${this.#base}${path}`, { request, timeoutMs });
  }
}

/** The public keys at an address, e.g. `http://127.0.0.1:7380/.well-known/jwks.json`. */
export function fetchKeySet(url: string): Promise<z.output<typeof KeySet>> {
  const request = { headers: { accept: 'application/json' } };
  return ask(KeySet, url, { request, timeoutMs: TIMEOUT_MS });
}

function deliveryPath(deliveryId: string): string {
  return `/factory/deliveries/${encodeURIComponent(deliveryId)}`;
}

function replayPath(jobId: string): string {
  return `/v1/replays/${encodeURIComponent(jobId)}`;
}

function actionPath(actionId: string): string {
  return `/v1/actions/${encodeURIComponent(actionId)}`;
}

/** The query with its question mark; empty where nothing is asked for. */
function search(query: Readonly<Record<string, string | readonly string[] | undefined>>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of typeof value === 'string' ? [value] : (value ?? [])) params.append(name, one);
  }
  return params.size === 0 ? '' : `?${params.toString()}`;
}
