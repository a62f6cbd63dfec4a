/** Settling an attempt whose sender is lost, and what people decide about an action. */
import { requestCancel, resolveAction, settleLost } from '../../db/action-steps';
import type {
  CancelDecision,
  CancelRequest,
  Resolution,
  ResolveAnswer,
  SettleStep,
} from '../../domain/action-activities';
import type { ActionRef } from '../../domain/action-service';
import { point } from '../../points';
import type { ActionServices } from './action-services';

/**
 * The row knows whether anything was sent under the attempt: if not, now nothing will be; else its
 * outcome is unknown. Idempotent; one that was settled meanwhile keeps that settlement.
 */
export async function settleAttempt(
  services: Pick<ActionServices, 'data'>,
  { reason, ...at }: SettleStep,
): Promise<void> {
  await point('settle.begun');
  await settleLost(services.data, at, { reason, detail: SETTLED[reason] });
  await point('settle.done');
}

const SETTLED: Readonly<Record<SettleStep['reason'], string>> = {
  never_taken: 'no worker took it on in time',
  worker_lost: 'the worker that sent it is lost',
  not_settled: 'its sender could not write what came of it',
};

/** Decides a cancel on the row. Whoever calls it tells the workflow. */
export async function decideCancel(
  services: Pick<ActionServices, 'data'>,
  { cancelledBy, reason, ...ref }: CancelRequest,
): Promise<CancelDecision> {
  const answer = await requestCancel(services.data, ref, { cancelledBy, reason });
  if (answer.kind === 'unknown_action') return answer;
  return { kind: answer.kind, state: answer.action.state };
}

/** Writes what a person says became of an action that needs one. */
export async function decideResolution(
  services: ActionServices,
  { tenantId, actionId, outcome, by, reason }: ActionRef & Resolution,
): Promise<ResolveAnswer> {
  const answer = await resolveAction(
    services.data,
    { tenantId, actionId },
    { outcome, by, reason },
  );
  if (answer.kind === 'unknown_action') return answer;
  return { kind: answer.kind, state: answer.action.state };
}
