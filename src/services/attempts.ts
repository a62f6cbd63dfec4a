/**
 * One attempt of a delivery: open the fenced row, call the target, close the row with what follows
 * from the answer; where the target is an action, the row is open as long as the action is. Whoever
 * drives it (the workflow's activity, or first the loop of the express lane) owns timers and waiting;
 * the budget and the due times are facts of the row, so that a driver that starts anew goes on where
 * the last one was.
 */
import { openAttempt } from '../db/deliveries';
import { judgeHttpAnswer, type FailureReason } from '../domain/attempts';
import type { AttemptAnswer, DeliveryRef } from '../domain/delivery-activities';
import { parseRetryAfter } from '../domain/retry';
import { point } from '../points';
import type { DeliveryFacts, OpenAttemptAnswer, OpenedAttempt } from '../schemas/delivery-rows';
import { SecretError, type SecretProvider } from '../secrets/provider';
import { dispatchHeaders } from '../targets/dispatch-request';
import type { TargetReport } from '../targets/http-target';
import { addressSecrets, redaction } from '../targets/redaction';
import { followAction } from './action-attempts';
import type { AttemptResult, ClosableAttempt } from './attempt-closing';
import { closeWithVerdict } from './attempt-closing';
import { failForGood, settled } from './attempt-failing';
import type { AttemptServices } from './attempt-services';
import { countedAs } from './delivery-metrics';
import { meetSending, send } from './sending/adapters';
import { signingSecrets } from './signing-secrets';
import { dispatchToWorkflow } from './workflow-attempts';

export interface AttemptOptions {
  /** Who opens it, for people: workflow run and worker. */
  readonly owner: string;
  readonly takeOver: boolean;
  /** Ends the call early when the process must stop. */
  readonly signal: AbortSignal;
}

/**
 * Makes one fenced attempt, or says why none was made.
 * @throws WaybillError `storage_unavailable` when the row can be neither opened nor closed in time;
 *   an attempt left open that way is closed as unknown by the next call
 */
export async function makeAttempt(
  services: AttemptServices,
  ref: DeliveryRef,
  options: AttemptOptions,
): Promise<AttemptAnswer> {
  await point('attempt.begun');
  return carryOut(services, ref, await openAttempt(services.data, ref, options.owner), options);
}

/** What follows from having asked for an attempt, whoever asked. Throws as `makeAttempt`. */
export async function carryOut(
  services: AttemptServices,
  ref: DeliveryRef,
  opened: OpenAttemptAnswer,
  options: Pick<AttemptOptions, 'takeOver' | 'signal'>,
): Promise<AttemptAnswer> {
  switch (opened.answer) {
    case 'unknown_delivery':
      return { kind: 'unknown_delivery' };
    case 'settled':
      return settled(opened.info);
    case 'in_flight':
      return followOrWait(services, ref, opened, options);
    case 'must_fail':
      return failForGood(services, ref, opened);
    case 'held':
      return {
        kind: 'held',
        state: opened.info.state,
        why: opened.info.heldBy ?? 'paused',
        ...(opened.info.againInMs === null ? {} : { againInMs: opened.info.againInMs }),
      };
    case 'not_due':
      return notDue(opened.info);
    case 'opened':
      if (opened.info.seriesAttempts === 1) {
        services.metrics?.reached('Dispatched', countedAs(ref, opened.info));
      }
      await point('attempt.opened');
      return dispatch(services, ref, opened, options.signal);
  }
}

function notDue(facts: DeliveryFacts & { readonly dueInMs: number }): AttemptAnswer {
  const { dueInMs, attempts: attempt, detail } = facts;
  const reason = facts.reason as FailureReason | null;
  const last = reason === null ? {} : { last: { attempt, reason, detail: detail ?? '' } };
  return { kind: 'not_due', dueInMs, ...last };
}

async function dispatch(
  services: AttemptServices,
  ref: DeliveryRef,
  { info, payload, answer }: OpenedAttempt,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  if (info.targetKind === 'http') {
    return callAndClose(services, ref, { answer, info, payload }, signal);
  }
  const { attempt } = info;
  const clock = databaseClock(info);
  if (info.targetKind === 'outbound') {
    const { contentType, firstCall, endsInMs } = info;
    const sending = { ref, attempt, info, clock, payload, contentType, firstCall, endsInMs };
    return send(services, sending, signal);
  }
  if (info.targetKind === 'workflow') {
    const opened = { answer, info, payload };
    return dispatchToWorkflow(services, { ref, attempt, info, clock }, opened);
  }
  if (info.targetKind === 'event') {
    return acknowledgeByEvent(services, { ref, attempt, info, clock });
  }
  const { target } = info;
  return followAction(services, { ref, attempt, info, clock, target, payload }, signal);
}

/** Nobody is called: the transaction that acknowledges writes the event, and that is the dispatch. */
async function acknowledgeByEvent(
  services: AttemptServices,
  attempt: ClosableAttempt,
): Promise<AttemptAnswer> {
  const startedAtMs = attempt.clock();
  const answer = await closeWithVerdict(services, attempt, {
    verdict: {
      outcome: 'acknowledged',
      reason: null,
      mayRetry: false,
      pausesSubscription: false,
    },
    detail: 'its event is in the outbox',
    report: {
      ...{ status: null, durationMs: 0, answerSha256: null, answerHead: null },
      startedAtMs,
    },
  });
  if (answer.kind === 'acknowledged' && attempt.attempt === 1) {
    const ageMs = startedAtMs - Date.parse(attempt.info.receivedAt);
    services.metrics?.dispatchedAfter(ageMs / 1000, countedAs(attempt.ref, attempt.info));
  }
  return answer;
}

type OpenedCall = OpenedAttempt & {
  readonly info: Extract<OpenedAttempt['info'], { targetKind: 'http' }>;
};

async function callAndClose(
  services: AttemptServices,
  ref: DeliveryRef,
  opened: OpenedCall,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const clock = databaseClock(opened.info);
  const attempt: ClosableAttempt = { ref, attempt: opened.info.attempt, info: opened.info, clock };
  const headers = await signedHeaders(services.secrets, ref, opened, clock());
  if (headers instanceof SecretError) return closeWithVerdict(services, attempt, unsigned(headers));
  const startedAtMs = clock();
  const started = performance.now();
  const report = await services.call({
    url: opened.info.target.url,
    headers,
    body: opened.payload,
    timeoutMs: opened.info.target.timeoutMs,
    success: opened.info.target.success,
    signal,
    redact: redaction(addressSecrets(opened.info.target.url)),
  });
  const durationMs = Math.round(performance.now() - started);
  if (opened.info.firstCall && report.answer.kind !== 'not_sent') {
    const ageMs = startedAtMs - Date.parse(opened.info.receivedAt);
    services.metrics?.dispatchedAfter(ageMs / 1000, countedAs(ref, opened.info));
  }
  await point('attempt.answered');
  return closeWithVerdict(services, attempt, {
    verdict: judgeHttpAnswer(report.answer),
    detail: report.detail,
    report: {
      status: statusOf(report),
      durationMs,
      startedAtMs,
      answerSha256: report.answerSha256,
      answerHead: report.answerHead,
    },
    retryAfterMs:
      report.answer.kind === 'answered' ? parseRetryAfter(report.answer.retryAfter, clock()) : null,
  });
}

function unsigned({ message }: SecretError): AttemptResult {
  return {
    verdict: {
      outcome: 'not_sent',
      reason: 'secret_unavailable',
      mayRetry: true,
      pausesSubscription: false,
    },
    detail: `nothing was sent unsigned: ${message}`,
  };
}

/**
 * An open attempt of somebody else: left alone until its deadline, unless its owner is known dead. One
 * whose target is an action belongs to nobody: starting the action again meets the same one.
 */
async function followOrWait(
  services: AttemptServices,
  ref: DeliveryRef,
  { info, payload }: Extract<OpenAttemptAnswer, { answer: 'in_flight' }>,
  { takeOver, signal }: Pick<AttemptOptions, 'takeOver' | 'signal'>,
): Promise<AttemptAnswer> {
  const { attempt, endsInMs, driver } = info;
  const clock = databaseClock(info);
  if (info.targetKind === 'outbound') {
    const sending = { ref, attempt, info, clock, payload, contentType: null, firstCall: false };
    return meetSending(services, { ...sending, endsInMs }, { takeOver, signal });
  }
  if (info.targetKind === 'action') {
    const { target } = info;
    return followAction(services, { ref, attempt, info, clock, target, payload }, signal);
  }
  // Nothing leaves before it is closed, so anybody may close it.
  if (info.targetKind === 'event') {
    return acknowledgeByEvent(services, { ref, attempt, info, clock });
  }
  // Only a workflow's own attempt can be known to be lost.
  const isLost = takeOver && driver === 'workflow';
  if (!isLost && endsInMs > 0) return { kind: 'in_flight', attempt, endsInMs };
  return closeWithVerdict(
    services,
    { ref, attempt, info, clock },
    {
      verdict: {
        outcome: 'unknown',
        reason: 'worker_lost',
        mayRetry: true,
        pausesSubscription: false,
      },
      detail: 'the worker was lost during the attempt; the target may have taken it',
      // Nothing is known against the target: the next attempt need not wait for it.
      immediate: true,
    },
  );
}

/**
 * The database's clock in ms, carried on by this process's monotonic one: whatever leaves us as an
 * instant, or is compared with one, does not depend on the clock of a worker.
 */
function databaseClock(facts: DeliveryFacts): () => number {
  const readAtMs = Date.parse(facts.now);
  const since = performance.now();
  return () => Math.round(readAtMs + performance.now() - since);
}

function statusOf(report: TargetReport): number | null {
  return report.answer.kind === 'answered' ? report.answer.status : null;
}

/** The call's headers, or what keeps a secret from signing it. */
async function signedHeaders(
  provider: SecretProvider,
  ref: DeliveryRef,
  opened: OpenedCall,
  sentAtMs: number,
): Promise<Record<string, string> | SecretError> {
  try {
    const secrets = await signingSecrets(provider, opened.info.target.secretRefs);
    return dispatchHeaders({ deliveryId: ref.deliveryId, opened, secrets, sentAtMs });
  } catch (error) {
    if (error instanceof SecretError) return error;
    throw error;
  }
}
