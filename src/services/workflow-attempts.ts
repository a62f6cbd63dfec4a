/**
 * An attempt whose target is a workflow (docs/architecture, "Workflow targets"): acknowledged once it
 * is started, or has the signal. What it does with the delivery is its own affair.
 */
import type { Verdict } from '../domain/attempts';
import type { AttemptAnswer } from '../domain/delivery-activities';
import type { WorkflowDispatch, WorkflowInput, WorkflowReport } from '../domain/workflow-targets';
import { parsedJson } from '../schemas/json-bytes';
import { isShallow, MAX_NESTING } from '../schemas/nesting';
import type { OpenedAttempt } from '../schemas/delivery-rows';
import { inexactIn } from '../targets/action-request';
import type { AttemptResult, ClosableAttempt } from './attempt-closing';
import { closeWithVerdict } from './attempt-closing';
import type { AttemptServices } from './attempt-services';
import { countedAs } from './delivery-metrics';

/** Temporal takes 2 MiB in one payload; more than so much of a body is not put into a history. */
const MAX_PAYLOAD_BYTES = 512 * 1024;

export type OpenedForWorkflow = OpenedAttempt & {
  readonly info: Extract<OpenedAttempt['info'], { targetKind: 'workflow' }>;
};

export async function dispatchToWorkflow(
  services: AttemptServices,
  attempt: ClosableAttempt,
  opened: OpenedForWorkflow,
): Promise<AttemptAnswer> {
  const { info, payload } = opened;
  if (payload.length > MAX_PAYLOAD_BYTES) {
    const detail = `the payload has more than ${MAX_PAYLOAD_BYTES} bytes, too many for a workflow`;
    return closeWithVerdict(services, attempt, refused(detail));
  }
  const startedAtMs = attempt.clock();
  const report = await services.workflows(dispatchOf(attempt, opened));
  if (info.firstCall && report.kind !== 'refused') {
    const ageMs = startedAtMs - Date.parse(info.receivedAt);
    services.metrics?.dispatchedAfter(ageMs / 1000, countedAs(attempt.ref, info));
  }
  return closeWithVerdict(services, attempt, {
    verdict: verdictOf(report),
    detail: report.detail,
    report: {
      ...{ status: null, answerSha256: null, answerHead: null, startedAtMs },
      durationMs: Math.max(0, attempt.clock() - startedAtMs),
    },
  });
}

function dispatchOf(
  { ref }: ClosableAttempt,
  { info, payload }: OpenedForWorkflow,
): WorkflowDispatch {
  const { subscriptionId, connectorId, externalId, eventType, receivedAt, attempt } = info;
  const input: WorkflowInput = {
    ...{ ...ref, subscriptionId, connectorId, externalId, eventType, receivedAt, attempt },
    ...{ replay: info.series - 1, contentType: info.contentType, headers: info.keptHeaders },
    ...{ payloadSha256: info.payloadSha256, payload: shallowJson(payload) },
    payloadBase64: Buffer.from(payload).toString('base64'),
  };
  const summary = `${eventType} for ${subscriptionId ?? connectorId}`.slice(0, 200);
  return { ...ref, target: info.target, input, summary, timeoutMs: info.target.timeoutMs };
}

/** What is nested too deep cannot be written again, here or by whoever works on it; nor some numbers. */
function shallowJson(payload: Uint8Array): unknown {
  const value = parsedJson(payload) ?? null;
  return isShallow(value, MAX_NESTING) && inexactIn(value) === null ? value : null;
}

function refused(detail: string): AttemptResult {
  return { verdict: verdictOf({ kind: 'refused', detail, forGood: true }), detail };
}

function verdictOf(report: WorkflowReport): Verdict {
  const of = (outcome: Verdict['outcome'], reason: Verdict['reason'], mayRetry: boolean) => ({
    ...{ outcome, reason, mayRetry, pausesSubscription: false },
  });
  switch (report.kind) {
    case 'taken':
      return of('acknowledged', null, false);
    case 'refused':
      return of('not_sent', 'workflow_refused', !report.forGood);
    case 'lost':
      return of('unknown', 'answer_lost', true);
  }
}
