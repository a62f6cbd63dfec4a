/** Settling an attempt whose sender is lost, and what people decide about an action. */
import { requestCancel, resolveAction, settleLost } from '../../db/action-steps';
import type { CancelDecision, CancelRequest, SettleStep } from '../../domain/action-activities';
import type { ActionRef } from '../../domain/action-service';
import type { Resolution, ResolveAnswer } from '../../domain/resolutions';
import { point } from '../../points';
import type { ActionServices } from './action-services';

/**
 * The row knows whether anything was sent under the attempt: if not, now nothing will be; else its
 * outcome is unknown. Idempotent; one that was settled meanwhile keeps that settlement.
 */
export async function settleAttempt(
  services: Pick<ActionServices, 'data' | 'sign'>,
  { reason, ...at }: SettleStep,
): Promise<void> {
  await point('settle.begun');
  const sign = services.sign(at, { fence: at.fence, reason });
  await settleLost(services.data, at, { reason, detail: SETTLED[reason] }, sign);
  await point('settle.done');
}

const SETTLED: Readonly<Record<SettleStep['reason'], string>> = {
  never_taken: 'no worker took it on in time',
  worker_lost: 'the worker that sent it is lost',
  not_settled: 'its sender could not write what came of it',
};

/** Decides a cancel on the row. Whoever calls it tells the workflow. */
export async function decideCancel(
  services: Pick<ActionServices, 'data' | 'sign'>,
  { cancelledBy, reason, ...ref }: CancelRequest,
): Promise<CancelDecision> {
  const sign = services.sign(ref, { by: cancelledBy, reason });
  const answer = await requestCancel(services.data, ref, { cancelledBy, reason }, sign);
  if (answer.kind === 'unknown_action') return answer;
  return { kind: answer.kind, state: answer.action.state };
}

/** Writes what a person says became of an action that needs one. */
export async function decideResolution(
  services: Pick<ActionServices, 'data' | 'sign'>,
  { tenantId, actionId, outcome, by, reason }: ActionRef & Resolution,
): Promise<ResolveAnswer> {
  const ref = { tenantId, actionId };
  const errorCode = outcome === 'failed' ? 'resolved_as_failed' : null;
  const sign = services.sign(ref, { by, reason, errorCode });
  const answer = await resolveAction(services.data, ref, { outcome, by, reason, errorCode }, sign);
  if (answer.kind === 'unknown_action') return answer;
  return { kind: answer.kind, state: answer.action.state };
}
