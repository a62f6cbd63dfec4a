/**
 * Starting actions: once an id, for ever. Postgres decides, because Temporal forgets; the same order
 * again meets the action that is there, another one under its id is a conflict
 * (docs/architecture, "Actions").
 */
import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { readAction } from '../../db/action-steps';
import type { Database } from '../../db/database';
import type { ActionIdentity } from '../../domain/action-activities';
import type { ActionOrder, ActionRef, ActionService } from '../../domain/action-service';
import { isOpenAction } from '../../domain/action-states';
import { WaybillError } from '../../domain/errors';
import type { ActionSigner } from '../../domain/receipts';
import type { ActionLedger, CapabilityCatalog } from '../../domain/registry-ports';
import { point } from '../../points';
import { canonicalJson } from '../../schemas/canonical-json';
import {
  approveByDelivery,
  approveCarried,
  carriedApproval,
  decide,
  type DeliveryApproval,
  newApprovalId,
} from './approvals';
import { nudge, type AttendReason } from './nudging';
import { sizeProblem, type RequestChecks } from './request-checks';
import { decideCancel, decideResolution } from './settling';

/** How long whoever started an action has to start its workflow before a loop does. */
const ATTEND_AFTER_MS = 5_000;
const FIRST_LOOK_MS = 30;
const LONGEST_PAUSE_MS = 400;
/** Of a cancel: what its workflow cannot know by itself. */
const NEWS: readonly string[] = ['cancelled', 'requested', 'already'];

export interface StartServices {
  /** Role waybill_data. */
  readonly data: Database;
  readonly ledger: ActionLedger;
  readonly catalog: CapabilityCatalog;
  readonly checks: RequestChecks;
  readonly sign: ActionSigner;
  /** Returns at once and never throws; a loop does what it could not. */
  readonly attend: (action: ActionIdentity, why: AttendReason) => void;
}

export function actionService(services: StartServices): ActionService {
  return {
    start: async (order) => {
      const { kind } = await startAction(services, { ...order, delivery: null });
      return kind === 'conflict'
        ? { kind, detail: 'the id belongs to another capability or another request' }
        : { kind };
    },
    closed: (ref, waitMs, signal) => untilClosed(services, ref, waitMs, signal),
    cancel: async (ref, who) => {
      const decision = await decideCancel(services, { ...ref, ...who });
      if (NEWS.includes(decision.kind)) await nudge(services, ref);
      return decision;
    },
    decide: async (ref, wish) => {
      const approvalId = newApprovalId();
      const { tenantId, actionId } = ref;
      const decision = {
        ...wish,
        tenantId,
        actionId,
        via: 'api',
        approvalId,
        token: null,
      } as const;
      const answer = await decide(services, decision);
      if (answer.kind === 'decided') await nudge(services, ref);
      return answer;
    },
    resolve: async (ref, resolution) => {
      const answer = await decideResolution(services, { ...ref, ...resolution });
      if (answer.kind === 'resolved') await nudge(services, ref);
      return answer;
    },
  };
}

interface DeliveryOrder extends ActionOrder {
  /** The delivery that it is started for, with the approval of what that sends; null: none. */
  readonly delivery: {
    readonly deliveryId: string;
    readonly approval: DeliveryApproval | null;
  } | null;
}

/**
 * Starts the action, or meets the one that is there.
 * @throws WaybillError `capability_unavailable`, `action_request_invalid`, `stale_plan` (a new one, and the
 *   catalog has moved from `ifCatalogRevision`), `approval_required`, `approval_refused`, `approver_is_requester`,
 *   `storage_unavailable`
 */
export async function startAction(
  services: StartServices,
  order: DeliveryOrder,
): Promise<{ readonly kind: 'started' | 'existing' | 'conflict' }> {
  const bytes = Buffer.from(canonicalJson(order.request));
  const tooLarge = sizeProblem(bytes);
  if (tooLarge !== null) throw tooLarge;
  const known = await admit(services, order, bytes);
  if (known !== null) return known;
  const carried = await carriedApproval(services.data, order, bytes);
  const { tenantId, actionId, capabilityId, affinityKey, requestedBy, delivery } = order;
  const deliveryId = delivery?.deliveryId ?? null;
  const { deadlineMs, retryBudget, ifCatalogRevision = null } = order;
  const answer = await services.ledger.startAction({
    ...{ tenantId, actionId, capabilityId, affinityKey, requestedBy, deliveryId },
    ...{ deadlineMs, retryBudget, request: bytes, attendAfterMs: ATTEND_AFTER_MS },
    ...{ ifCatalogRevision, policyDecision: order.policyDecision ?? null },
  });
  if (answer.kind === 'stale_plan') throw stalePlan(answer.revision);
  await point('action.stored');
  if (answer.kind !== 'conflict' && isOpenAction(answer.action.state)) {
    // The row's key, not that of whoever asks last: it keeps the conversation on one account.
    const { requestDigest, affinityKey: kept } = answer.action;
    const identity = { tenantId, actionId, capabilityId, requestDigest, affinityKey: kept };
    // Before its workflow asks for what is there. One that waits for it is told.
    const news =
      carried === null
        ? await approveForDelivery(services, order)
        : await approveCarried(services, order, carried);
    services.attend(identity, news && answer.kind === 'existing' ? 'nudge' : 'start');
  }
  await point('action.started');
  return { kind: answer.kind };
}

/** A lost worker may have left the action without it: whoever meets it may call this again. */
export async function approveForDelivery(
  services: StartServices,
  { delivery, ...ref }: ActionRef & Pick<DeliveryOrder, 'delivery'>,
): Promise<boolean> {
  if (delivery === null || delivery.approval === null) return false;
  return await approveByDelivery(services, ref, delivery.approval);
}

/** Null: it may start. An action that is there is met also when its capability is gone. */
async function admit(
  { catalog, checks, data }: StartServices,
  order: ActionOrder,
  bytes: Buffer,
): Promise<{ readonly kind: 'existing' | 'conflict' } | null> {
  const contract = await catalog.find(order.tenantId, order.capabilityId);
  const fault =
    contract === null
      ? new WaybillError('capability_unavailable', '', { field: 'capabilityId' })
      : contract.approvalNeeded &&
          order.awaitApproval === false &&
          (order.approval ?? null) === null
        ? new WaybillError('approval_required', '', { field: 'approval' })
        : checks.problem(contract, order.request);
  if (fault === null) return null;
  const existing = await readAction(data, order);
  if (existing === null) throw await unlessStale(catalog, order, fault);
  const same =
    existing.capabilityId === order.capabilityId &&
    existing.requestDigest === createHash('sha256').update(bytes).digest('hex');
  return { kind: same ? 'existing' : 'conflict' };
}

/** What is wrong at another revision than the plan's says nothing of the plan. */
async function unlessStale(
  catalog: CapabilityCatalog,
  { ifCatalogRevision = null }: ActionOrder,
  fault: WaybillError,
): Promise<WaybillError> {
  if (ifCatalogRevision === null) return fault;
  const revision = await catalog.revision();
  return revision === ifCatalogRevision ? fault : stalePlan(revision);
}

function stalePlan(revision: number): WaybillError {
  const detail = `the catalog is at revision ${revision}; verify the plan again`;
  return new WaybillError('stale_plan', detail, { field: 'ifCatalogRevision' });
}

async function untilClosed(
  { data }: StartServices,
  ref: ActionRef,
  waitMs: number,
  signal: AbortSignal,
): Promise<boolean> {
  const started = performance.now();
  for (let pause = FIRST_LOOK_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    const action = await readAction(data, ref);
    if (action !== null && !isOpenAction(action.state)) return true;
    const leftMs = waitMs - (performance.now() - started);
    if (action === null || leftMs <= 0 || signal.aborted) return false;
    await delay(Math.min(pause, leftMs), undefined, { signal }).catch(() => undefined);
  }
}
