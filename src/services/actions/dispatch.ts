/**
 * Sending an action's request once: open the attempt, call the assigned host, settle with what came
 * back. After the opening nothing is thrown away: what is not known is settled as unknown. A host that
 * is at work is asked again with the same request, which attaches to that work.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { beginDispatch, closeDispatch, noteWait } from '../../db/action-steps';
import type { Receipting } from '../../db/receipted';
import type { Dispatched, DispatchRequest } from '../../domain/action-activities';
import { resendDelayMs, reserveDelayMs } from '../../domain/action-retry';
import { backoffMs } from '../../domain/retry';
import type { HostCall } from '../../hosts/client';
import { point } from '../../points';
import type { CloseDispatchAnswer, NotSendable, Sendable } from '../../schemas/action-step-rows';
import { patiently } from '../patience';
import type { ActionServices } from './action-services';
import { closingOf, type Closing } from './closings';
import { Progression, type DispatchRun } from './progression';
import { closingReceipt, digestOf, expectedReceipt } from './receipts';

/** @throws WaybillError `storage_unavailable`; an attempt that was opened is then the workflow's to settle */
export async function dispatchAction(
  services: ActionServices,
  request: DispatchRequest,
  run: DispatchRun,
): Promise<Dispatched> {
  const progression = new Progression(services, request, run);
  const began = performance.now();
  for (let round = 1; ; round += 1) {
    const sent = await send(services, request, { progression, signal: run.signal });
    if (sent.kind !== 'running') return sent;
    const { timeoutMs, ...running } = sent;
    const leftMs = request.followMs - (performance.now() - began);
    // The first time its workflow is told at once, and shows it.
    if (!request.resume || run.signal.aborted || leftMs < timeoutMs) return running;
    const pauseMs = backoffMs(round, 250, 5_000);
    await delay(pauseMs, undefined, { signal: run.signal }).catch(() => undefined);
  }
}

type Sent =
  | Exclude<Dispatched, { kind: 'running' }>
  /** `timeoutMs`: how long the next call may take. */
  | (Extract<Dispatched, { kind: 'running' }> & { readonly timeoutMs: number });

async function send(
  services: ActionServices,
  request: DispatchRequest,
  { progression, signal }: { readonly progression: Progression; readonly signal: AbortSignal },
): Promise<Sent> {
  await point('dispatch.begun');
  const { answer, request: body } = await beginDispatch(services.data, request);
  if (answer.kind === 'fence_lost') return { kind: 'look' };
  await point('dispatch.opened');
  const { attemptNo } = answer;
  if (answer.kind === 'not_sendable')
    return await close(services, request, { attemptNo, opened: null, ...notSendable(answer.why) });
  const opened = { answer, atMs: performance.now() };
  if (body === null) return await close(services, request, { attemptNo, opened, ...NO_REQUEST });
  const started = performance.now();
  const result = await progression.during(callOf(answer, request.fence, signal), (call) =>
    services.hosts.execute(call, body),
  );
  await point('dispatch.answered');
  const durationMs = Math.round(performance.now() - started);
  const closing = closingOf(result, { sendable: answer, resumed: request.resume, durationMs });
  if (closing.kind === 'running') {
    await progression.note(closing.progress);
    return { ...closing, timeoutMs: answer.timeoutMs };
  }
  return await close(services, request, { attemptNo, opened, ...closing });
}

type Settled = Exclude<Closing, { kind: 'running' }>;

interface Ended extends Settled {
  readonly attemptNo: number;
  /** What was read when the request was let go, and when; null: it was not. */
  readonly opened: { readonly answer: Sendable; readonly atMs: number } | null;
}

async function close(
  services: ActionServices,
  request: DispatchRequest,
  closing: Ended,
): Promise<Exclude<Dispatched, { kind: 'running' }>> {
  const { settlement, unknownCause, result, reason, detail, evidence, retryAfterMs } = closing;
  const { resultBytes } = closing;
  const written = {
    ...{ settlement, unknownCause, result, retryAfterMs, resultBytes },
    evidence: { ...evidence, reason, detail },
  };
  const receipting = receiptingOf(services, request, closing);
  const answer = await patiently(() =>
    closeDispatch(services.data, request, written, receipting()),
  );
  await point('dispatch.closed');
  const told = toldOf(answer, closing);
  if (told.kind !== 'not_started' || reason === 'stale_fence') return told;
  const retryInMs =
    retryAfterMs === null
      ? resendDelayMs(closing.attemptNo, services.random())
      : pausedMs(retryAfterMs, answer, services.random());
  await noteWait(services.data, request, { reason, detail, forMs: retryInMs });
  return { ...told, retryInMs };
}

/** The receipt that is due if nothing else was written meanwhile, so that it need not be asked for. */
function receiptingOf(
  { sign }: ActionServices,
  request: DispatchRequest,
  { opened, attemptNo, settlement, result, resultBytes, reason }: Ended,
): () => Receipting {
  const signer = sign(request, {
    ...{ attempt: attemptNo, fence: request.fence, settlement, reason },
    replicaId: opened?.answer.route.replicaId ?? null,
    errorCode: result?.errorCode ?? null,
    resultSha256: digestOf(resultBytes),
  });
  const kind = result === null ? 'attempt_settled' : closingReceipt(result.outcome);
  return () => ({
    sign: signer,
    expected:
      opened &&
      expectedReceipt(opened.answer.receipts, kind, Math.round(performance.now() - opened.atMs)),
  });
}

/** As long as the provider wants; what is waited for no longer fails at its deadline, not after it. */
function pausedMs(retryAfterMs: number, answer: CloseDispatchAnswer, random: number): number {
  const leftMs = answer.kind === 'unknown_route' ? retryAfterMs : answer.action.deadlineInMs + 1;
  return Math.max(1, Math.min(reserveDelayMs(retryAfterMs, 0, random), leftMs));
}

function toldOf(
  answer: CloseDispatchAnswer,
  closing: Pick<Settled, 'reason' | 'detail' | 'settlement' | 'highestFence'>,
): Exclude<Dispatched, { kind: 'running' }> {
  if (answer.kind === 'unknown_route' || answer.kind === 'fence_lost') return { kind: 'look' };
  if (answer.kind === 'closed') {
    return { kind: 'closed', state: answer.action.state, deliveryId: answer.action.deliveryId };
  }
  if (closing.settlement === 'not_started' && answer.action.state === 'requested') {
    const { reason, detail, highestFence } = closing;
    return { kind: 'not_started', reason, detail, retryInMs: 0, highestFence };
  }
  return { kind: 'unknown' };
}

/** The whole call ends before the attempt's deadline, and the token with it. */
function callOf(sendable: Sendable, fence: number, signal: AbortSignal): HostCall {
  const { route, incarnation, storeEpoch, deadlineAtMs, deadlineInMs } = sendable;
  return {
    route,
    fence,
    incarnation,
    storeEpoch,
    sentAgoMs: null,
    beginAnew: sendable.beginAnew,
    approval: sendable.approval,
    expiresAtMs: deadlineAtMs,
    timeoutMs: Math.max(1, Math.min(sendable.timeoutMs, deadlineInMs - CLOSING_MS)),
    signal,
  };
}

/** Left of an attempt's time for its settlement. */
const CLOSING_MS = 2_000;

const NOTHING: Omit<Settled, 'reason' | 'detail' | 'evidence'> = {
  kind: 'settled',
  settlement: 'not_started',
  unknownCause: null,
  result: null,
  resultBytes: null,
  highestFence: null,
  retryAfterMs: null,
};

function notSendable(why: NotSendable['why']): Settled {
  return { ...NOTHING, reason: 'not_sendable', detail: NOT_SENDABLE[why], evidence: { why } };
}

const NOT_SENDABLE: Readonly<Record<NotSendable['why'], string>> = {
  cancelled: 'it is to be stopped',
  deadline: 'its deadline has passed',
  registered_again: 'its host has registered again',
  not_ready: 'its host is not ready any more',
  revoked: 'its instance or connector version was revoked',
  recovering: 'the deployment recovers from a restore',
};

const NO_REQUEST: Settled = {
  ...NOTHING,
  result: { outcome: 'failed', errorCode: 'request_unreadable', detail: 'its request is missing' },
  reason: 'request_unreadable',
  detail: 'its stored request is missing',
  evidence: {},
};
