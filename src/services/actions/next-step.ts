/**
 * What an action wants next, by its row: a route is reserved where it may be, and whatever a lost
 * run has left is named. May be asked any number of times: the answer is the same until something
 * changes (docs/architecture, "Routes").
 */
import { giveUpAction, noteWait, readAction } from '../../db/action-steps';
import type { NextRequest, NextStep, OperatorNeeded } from '../../domain/action-activities';
import { reserveDelayMs } from '../../domain/action-retry';
import { isOpenAction } from '../../domain/action-states';
import type { SignActionReceipt } from '../../domain/receipts';
import type { ReserveAnswer } from '../../domain/routes';
import { actionWorkflowId } from '../../domain/workflow-ids';
import { point } from '../../points';
import type { ActionPosition, ReadAction } from '../../schemas/action-step-rows';
import type { ActionServices } from './action-services';
import { awaitApproval } from './approvals';
import { refusalWords } from './refusal-words';
import { decideCancel } from './settling';

/** How long an action may need an operator before somebody makes sure that its workflow is there. */
const OPERATOR_ATTEND_MS = 30 * 60_000;

/** Looks and reservations that may race with others before it is left to the next call. */
const LOOKS = 3;

/** @throws WaybillError `storage_unavailable` */
export async function nextStep(services: ActionServices, request: NextRequest): Promise<NextStep> {
  await point('reserve.begun');
  let attemptNo = request.attemptNo;
  // The first attempt needs no look: the reservation itself says where there is more to know.
  for (let look = attemptNo === 1 ? 0 : 1; look <= LOOKS; look += 1) {
    if (look > 0) {
      const position = await readAction(services.data, request);
      if (position === null) return { kind: 'unknown_action' };
      const wish = await wishOf(services, request, position);
      if (wish.kind === 'look') continue;
      if (wish.kind !== 'reserve') return wish;
      attemptNo = wish.attemptNo;
    }
    const answer = await reserve(services, request, attemptNo);
    if (answer.kind === 'reserved') await point('reserve.done');
    const step = await stepAfter(services, request, answer);
    if (step !== null) return step;
  }
  return { kind: 'wait', state: 'requested', ...refusalWords({ kind: 'contended' }), forMs: 100 };
}

type Wish =
  | NextStep
  | { readonly kind: 'reserve'; readonly attemptNo: number }
  /** The row has moved meanwhile. */
  | { readonly kind: 'look' };

async function wishOf(
  services: ActionServices,
  request: NextRequest,
  action: ReadAction,
): Promise<Wish> {
  const { attempt, connectorId } = action;
  // A result that came in no state to close it: the next fencing call finds it and does.
  if (action.result !== null && isOpenAction(action.state)) return { kind: 'ask' };
  switch (action.state) {
    case 'completed':
    case 'failed':
    case 'cancelled':
      return closed(action);
    case 'needs_operator': {
      const needed = operator(action, connectorId);
      await noteWait(services.data, request, { ...needed, forMs: OPERATOR_ATTEND_MS });
      return needed;
    }
    case 'awaiting_approval':
      return await awaitApproval(services, request);
    case 'unknown':
    case 'cancelling':
    case 'dispatching':
      if (attempt?.open !== true) return { kind: 'ask' };
      return { kind: 'settle', fence: attempt.fence, attemptNo: attempt.attemptNo };
    case 'reserved':
      return { kind: 'reserve', attemptNo: attempt?.attemptNo ?? 1 };
    case 'reconciling':
      if (!action.repeatable) return { kind: 'ask' };
      return await nextAttempt(services, request, action);
    case 'requested':
      return await nextAttempt(services, request, action);
  }
}

/** One more attempt, unless budget or deadline are used up. */
async function nextAttempt(
  services: ActionServices,
  request: NextRequest,
  action: ReadAction,
): Promise<Wish> {
  const made = action.attempt?.attemptNo ?? 0;
  if (action.cancelRequestedBy !== null && !action.repeatable) {
    // Wanted while it was under way, and it has turned out that nothing began.
    await decideCancel(services, {
      ...{ tenantId: request.tenantId, actionId: request.actionId },
      ...{ cancelledBy: action.cancelRequestedBy, reason: 'nothing had begun' },
    });
    const after = await readAction(services.data, request);
    if (after === null) return { kind: 'unknown_action' };
    return isOpenAction(after.state) ? { kind: 'ask' } : closed(after);
  }
  if (action.deadlineInMs <= 0) return await giveUp(services, request, { kind: 'deadline' });
  if (made - action.budgetFrom > action.retryBudget) {
    return await giveUp(services, request, { kind: 'budget', attempts: made - action.budgetFrom });
  }
  return { kind: 'reserve', attemptNo: made + 1 };
}

async function reserve(
  { routes, holdMs }: ActionServices,
  request: NextRequest,
  attemptNo: number,
): Promise<ReserveAnswer> {
  return await routes.reserveRoute({
    tenantId: request.tenantId,
    actionId: request.actionId,
    capabilityId: request.capabilityId,
    requestDigest: request.requestDigest,
    owner: actionWorkflowId(request),
    attemptNo,
    affinityKey: request.affinityKey,
    holdMs,
    aboveFence: request.aboveFence,
  });
}

/** Null: the row knows more than the answer says; look there. */
async function stepAfter(
  services: ActionServices,
  request: NextRequest,
  answer: ReserveAnswer,
): Promise<NextStep | null> {
  switch (answer.kind) {
    case 'reserved':
      return {
        kind: 'send',
        attemptNo: answer.reservation.attemptNo,
        fence: answer.reservation.fence,
        connectorId: answer.route.connectorId,
      };
    case 'settled':
    case 'superseded':
    case 'in_progress':
    case 'not_requested':
    case 'finished':
      return null;
    case 'unknown_action':
      return { kind: 'unknown_action' };
    case 'approval_required': {
      const asked = await awaitApproval(services, request);
      return asked.kind === 'look' ? null : asked;
    }
    case 'conflict':
    case 'binding_unavailable':
      return await giveUp(services, request, answer);
    case 'replica_unavailable':
    case 'capacity_exceeded':
    case 'rate_limited':
    case 'contended':
    case 'recovering':
      return await refused(services, request, answer);
  }
}

type Refused = Extract<ReserveAnswer, { retryInMs: number }>;

/** Asked for again until the action's deadline. */
async function refused(
  services: ActionServices,
  request: NextRequest,
  answer: Refused,
): Promise<NextStep> {
  const action = await readAction(services.data, request);
  if (action === null) return { kind: 'unknown_action' };
  const words = refusalWords(answer);
  if (action.deadlineInMs <= 0) {
    return await giveUp(services, request, { kind: 'no_route', why: words });
  }
  const delayMs = reserveDelayMs(answer.retryInMs, request.refusals, services.random());
  const forMs = Math.min(delayMs, action.deadlineInMs + 1);
  await noteWait(services.data, request, { ...words, forMs });
  return { kind: 'wait', state: action.state, ...words, forMs };
}

async function giveUp(
  services: ActionServices,
  request: NextRequest,
  why: Parameters<typeof refusalWords>[0],
): Promise<NextStep> {
  const words = refusalWords(why);
  const { reason } = words;
  const sign: SignActionReceipt = (wanted) =>
    wanted.kind === 'host_found'
      ? services.sign(request, { reason, finding: 'needs_operator' })(wanted)
      : services.sign(request, { reason, errorCode: reason })(wanted);
  const action = await giveUpAction(services.data, request, words, sign);
  if (action === null) return { kind: 'unknown_action' };
  if (action.state === 'needs_operator') return operator(action, null);
  // Not closed: somebody was faster, and the next look says what.
  if (!isOpenAction(action.state)) return closed(action);
  const contended = refusalWords({ kind: 'contended' });
  return { kind: 'wait', state: action.state, ...contended, forMs: 50 };
}

function closed(action: ActionPosition): NextStep {
  return { kind: 'closed', state: action.state, deliveryId: action.deliveryId };
}

function operator(action: ActionPosition, connectorId: string | null): OperatorNeeded {
  return {
    kind: 'operator',
    reason: action.reason ?? 'unresolved',
    detail: action.detail ?? 'what became of it is not known',
    connectorId,
    cancelRequestedBy: action.cancelRequestedBy,
  };
}
