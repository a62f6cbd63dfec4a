/** A client of the HTTP API, with answers and problems as the API's own schemas say. */
import type { z } from 'zod';
import { errorCatalogue, WaybillError, type ErrorCode } from '../../domain/errors';
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
import {
  DeliveryHistory,
  DeliveryPage,
  ReplayAccepted,
  type ListDeliveriesQuery,
} from '../../schemas/api-deliveries';
import { TenantFleet, type FleetStatusQuery } from '../../schemas/api-fleet';
import { KeySet } from '../../schemas/api-health';
import { PlanAnswer } from '../../schemas/api-plans';
import { Problem } from '../../schemas/api-problems';
import { QuotaPage, type ListQuotasQuery } from '../../schemas/api-quotas';
import {
  AttemptPage,
  RepinAnswer,
  type ListAttemptsQuery,
} from '../../schemas/api-route-operations';
import { RouteDetail, RoutePage, type ListRoutesQuery } from '../../schemas/api-routes';

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

  replay(deliveryId: string, reason: string): Promise<ReplayAccepted> {
    return this.#call(ReplayAccepted, 'POST', `${deliveryPath(deliveryId)}/replay`, {
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

  listAttempts(query: z.input<typeof ListAttemptsQuery>): Promise<AttemptPage> {
    return this.#call(AttemptPage, 'GET', `/v1/route-attempts${search(query)}`);
  }

  listQuotas(query: z.input<typeof ListQuotasQuery>): Promise<QuotaPage> {
    return this.#call(QuotaPage, 'GET', `/v1/quotas${search(query)}`);
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

  async #call<Answer extends z.ZodType>(
    schema: Answer,
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    sent: { readonly body?: object; readonly timeoutMs?: number } = {},
  ): Promise<z.output<Answer>> {
    const headers = { authorization: `Bearer ${this.#token}`, accept: 'application/json' };
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

/**
 * @throws WaybillError with the code of the API's problem, or `api_unreachable` when there is no
 *   answer, or none that an API of Waybill would give
 */
async function ask<Answer extends z.ZodType>(
  schema: Answer,
  url: string,
  { request, timeoutMs }: { readonly request: RequestInit; readonly timeoutMs: number },
): Promise<z.output<Answer>> {
  const response = await fetch(url, {
    ...request,
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  }).catch((error: unknown) => {
    throw unreachable(url, reasonOf(error, timeoutMs), error);
  });
  const content: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problem(url, response.status, content);
  const answer = schema.safeParse(content);
  if (answer.success) return answer.data;
  throw unreachable(url, 'its answer is not that of a Waybill API');
}

function problem(url: string, status: number, content: unknown): WaybillError {
  const told = Problem.safeParse(content);
  if (!told.success) return unreachable(url, `it answered ${status}`);
  const { code, detail, field } = told.data;
  if (!isKnown(code)) return unreachable(url, `it answered ${status}: ${detail} (${code})`);
  return new WaybillError(code, detail, field === undefined ? {} : { field });
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(errorCatalogue, code);
}

function unreachable(url: string, reason: string, cause?: unknown): WaybillError {
  const { origin } = new URL(url);
  return new WaybillError(
    'api_unreachable',
    `no usable answer from ${origin}: ${reason}; start it with \`waybill up\` or \`waybill api\`, ` +
      'or name another one with --api or WAYBILL_API_URL',
    { cause },
  );
}

/** fetch says "fetch failed"; its cause says why. */
function reasonOf(error: unknown, timeoutMs: number): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (cause instanceof AggregateError) return reasonOf(cause.errors[0], timeoutMs);
  if (!(cause instanceof Error)) return String(cause);
  return cause.name === 'TimeoutError' ? `nothing within ${timeoutMs / 1000} s` : cause.message;
}

function deliveryPath(deliveryId: string): string {
  return `/factory/deliveries/${encodeURIComponent(deliveryId)}`;
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
