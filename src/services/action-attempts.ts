/**
 * An attempt whose target is an action: start the action or meet it, follow it to its end, close the
 * attempt with that (docs/architecture, "Action targets"). Every step may be made again by whoever asks
 * next: the action's id comes from the delivery and the series.
 */
import { findDeliveryAction, noteFollowing, type FoundAction } from '../db/delivery-actions';
import type { ActionOrder } from '../domain/action-service';
import type { FailureReason } from '../domain/attempts';
import type { AttemptAnswer } from '../domain/delivery-activities';
import { actionOfSeries, followDelayMs, judgeAction } from '../domain/delivery-actions';
import { WaybillError } from '../domain/errors';
import type { CarriedApproval, PolicyDecision } from '../domain/sending';
import { REQUEST_LIMIT_BYTES } from '../hosts/protocol/limits';
import type { DeliveryAction, OpenedAttempt } from '../schemas/delivery-rows';
import { parsedJson } from '../schemas/json-bytes';
import { isShallow, MAX_NESTING } from '../schemas/nesting';
import type { ActionTarget } from '../schemas/targets';
import { buildAffinity, buildRequest, inexactIn } from '../targets/action-request';
import { nudge } from './actions/nudging';
import { actionService, approveForDelivery, startAction } from './actions/starting';
import type { AttemptResult, ClosableAttempt } from './attempt-closing';
import { closeWithVerdict } from './attempt-closing';
import type { AttemptServices } from './attempt-services';
import { countedAs } from './delivery-metrics';

export interface ActionAttempt extends ClosableAttempt {
  readonly info: ClosableAttempt['info'] & Pick<OpenedAttempt['info'], 'openedAt'>;
  readonly target: ActionTarget;
  /** Of what is sent: what its caller and its connection say; left out: as of what is received. */
  readonly terms?: {
    readonly requestedBy: string;
    readonly affinityKey: string;
    readonly deadlineMs: number | null;
    readonly attempts: number | null;
    readonly config: unknown;
    readonly policyDecision: PolicyDecision | null;
    readonly approval: CarriedApproval | null;
  };
  /** The stored bytes; may be null once the action of this series is there, and where they are unreadable. */
  readonly payload: Uint8Array | null;
}

/** A quick end is waited for, so that most deliveries need no second look. */
const QUICK_END_MS = 2_000;
/** As an action that a person starts has them by default. */
const DEADLINE_MS = 3_600_000;
const RETRY_BUDGET = 5;

/**
 * Goes on with an open attempt: `acknowledged` or `failed` when its action has ended, or could not be
 * started at all; else `following`.
 * @throws WaybillError `storage_unavailable`; the attempt stays open, and nothing is lost
 */
export async function followAction(
  services: AttemptServices,
  attempt: ActionAttempt,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const { ref, info } = attempt;
  const before = await findDeliveryAction(services.data, ref);
  const plan = actionOfSeries(ref.deliveryId, info.series, before && facts(before.action));
  if (plan.kind === 'meet') {
    if (before !== null) await approveAnew(services, attempt, before.action);
    return conclude(services, attempt, before, plan.actionId);
  }
  const refused = await start(services, attempt, plan.actionId);
  if (refused !== null) return closeWithVerdict(services, attempt, refused);
  const { tenantId } = ref;
  await actionService(services.actions).closed(
    { tenantId, actionId: plan.actionId },
    QUICK_END_MS,
    signal,
  );
  const after = await findDeliveryAction(services.data, ref);
  return conclude(services, attempt, after, plan.actionId);
}

function facts({ actionId, state, result }: DeliveryAction) {
  return { actionId, state, errorCode: result?.errorCode ?? null };
}

/** Starts the action, or meets the one that a lost worker has started; an answer: it cannot be. */
async function start(
  services: AttemptServices,
  attempt: ActionAttempt,
  actionId: string,
): Promise<AttemptResult | null> {
  const { ref, info, target } = attempt;
  if (attempt.payload === null) {
    const detail = 'the stored bytes are missing or do not match their digest';
    return notStarted('payload_unreadable', detail);
  }
  const { terms } = attempt;
  const built = build(target, attempt.payload, terms?.config);
  if (built.kind === 'unfit') return notStarted('action_request_invalid', built.problem);
  try {
    const { kind } = await startAction(services.actions, {
      ...{ tenantId: ref.tenantId, actionId, capabilityId: target.capabilityId },
      request: built.request,
      affinityKey: terms?.affinityKey ?? built.affinityKey,
      deadlineMs: Math.max(1_000, Math.min(DEADLINE_MS, terms?.deadlineMs ?? DEADLINE_MS)),
      retryBudget: Math.min(RETRY_BUDGET, (terms?.attempts ?? RETRY_BUDGET + 1) - 1),
      ...{ requestedBy: terms?.requestedBy ?? `delivery/${ref.deliveryId}` },
      policyDecision: recorded(terms?.policyDecision ?? null),
      delivery: { deliveryId: ref.deliveryId, approval: terms?.approval ?? null },
    });
    if (kind === 'conflict') return conflict(actionId);
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error;
    const reason = REFUSALS.find((code) => code === error.code);
    if (reason === undefined) throw error;
    return notStarted(reason, error.message);
  }
  if (info.attempts === 1) {
    const ageMs = attempt.clock() - Date.parse(info.receivedAt);
    services.metrics?.dispatchedAfter(ageMs / 1000, countedAs(ref, info));
  }
  return null;
}

/** Whoever has started it may have been lost before it was approved. */
async function approveAnew(
  { actions }: AttemptServices,
  { ref, terms }: ActionAttempt,
  { actionId, state }: DeliveryAction,
): Promise<void> {
  const approval = terms?.approval ?? null;
  if (approval === null || (state !== 'requested' && state !== 'awaiting_approval')) return;
  const action = { tenantId: ref.tenantId, actionId };
  const delivery = { deliveryId: ref.deliveryId, approval };
  if (await approveForDelivery(actions, { ...action, delivery })) await nudge(actions, action);
}

/** As an action has it recorded. */
function recorded(
  decision: PolicyDecision | null,
): NonNullable<ActionOrder['policyDecision']> | null {
  if (decision === null) return null;
  const { id, outcome, policy } = decision;
  return { id, decision: outcome, policy: policy ?? 'not said' };
}

/** What keeps an action from being started, whenever it is tried again. */
const REFUSALS = ['capability_unavailable', 'action_request_invalid'] as const;

type Built =
  | { readonly kind: 'built'; readonly request: unknown; readonly affinityKey: string | null }
  | { readonly kind: 'unfit'; readonly problem: string };

function build(
  { request: template, affinity }: ActionTarget,
  bytes: Uint8Array,
  config: unknown,
): Built {
  const payload = parsedJson(bytes);
  if (payload === undefined) return { kind: 'unfit', problem: 'the payload is no JSON' };
  const request = buildRequest(template, payload, config);
  if (request.kind === 'missing') return missing('request', request.pointer);
  if (!isShallow(request.request, MAX_NESTING)) {
    return { kind: 'unfit', problem: `the request is nested deeper than ${MAX_NESTING} levels` };
  }
  const inexact = inexactIn(request.request);
  if (inexact !== null) {
    return {
      kind: 'unfit',
      problem: `the number ${inexact} of the payload cannot be held exactly`,
    };
  }
  if (Buffer.byteLength(JSON.stringify(request.request)) > REQUEST_LIMIT_BYTES) {
    return { kind: 'unfit', problem: `the request has more than ${REQUEST_LIMIT_BYTES} bytes` };
  }
  const key = buildAffinity(affinity, payload);
  if (key.kind === 'missing') return missing('affinity', key.pointer);
  return { kind: 'built', request: request.request, affinityKey: key.key };
}

function missing(what: string, pointer: string): Built {
  return { kind: 'unfit', problem: `the payload has nothing for the ${what} at ${pointer}` };
}

function notStarted(reason: FailureReason, detail: string): AttemptResult {
  return {
    verdict: { outcome: 'not_sent', reason, mayRetry: false, pausesSubscription: false },
    detail: `nothing was started: ${detail}`,
  };
}

function conflict(actionId: string): AttemptResult {
  return notStarted('action_conflict', `another action has the id ${actionId}`);
}

/** Closes the attempt with the end of its action; while that is open, says what is waited for. */
async function conclude(
  services: AttemptServices,
  attempt: ActionAttempt,
  found: FoundAction | null,
  actionId: string,
): Promise<AttemptAnswer> {
  // Not this delivery's: somebody has started an action under its id.
  if (found?.action.actionId !== actionId) {
    return closeWithVerdict(services, attempt, conflict(actionId));
  }
  const { action, resultHead } = found;
  const { state } = action;
  const openedAtMs = Date.parse(attempt.info.openedAt);
  const verdict = judgeAction(state);
  if (verdict === null) return follow(services, attempt, action);
  const code = action.result?.errorCode ?? null;
  const answer = await closeWithVerdict(services, attempt, {
    verdict,
    detail: `action ${actionId} is ${state}${code === null ? '' : `: ${code}`}`,
    report: {
      status: null,
      startedAtMs: openedAtMs,
      durationMs: Math.min(MAX_INTEGER, Math.max(0, attempt.clock() - openedAtMs)),
      answerSha256: action.result?.resultSha256 ?? null,
      // Postgres text holds no NUL.
      answerHead: resultHead?.toString('utf8').replaceAll('\0', '\uFFFD') ?? null,
    },
  });
  const ended = answer.kind === 'acknowledged' || answer.kind === 'failed';
  return ended ? { ...answer, actionId } : answer;
}

/** Of a column of type integer: a duration of almost 25 days. */
const MAX_INTEGER = 2_147_483_647;

async function follow(
  services: AttemptServices,
  { ref, attempt, info, clock }: ActionAttempt,
  { actionId, state, reason, detail }: DeliveryAction,
): Promise<AttemptAnswer> {
  const againInMs = followDelayMs(clock() - Date.parse(info.openedAt));
  const why = detail ?? reason ?? 'it is under way';
  const told = `action ${actionId} is ${state}: ${why}`;
  await noteFollowing(services.data, { ...ref, attempt }, { detail: told, againInMs });
  return { kind: 'following', attempt, actionId, state, why, againInMs };
}
