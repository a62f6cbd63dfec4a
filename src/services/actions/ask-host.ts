/** One fencing call: reconcile, or cancel where somebody wants the action stopped. */
import { beginFencing, concludeFencing } from '../../db/action-steps';
import type { AskRequest, Asked } from '../../domain/action-activities';
import { isOpenAction } from '../../domain/action-states';
import type { HostResult } from '../../hosts/client/results';
import { point } from '../../points';
import type { ActionPosition, Askable } from '../../schemas/action-step-rows';
import { patiently } from '../patience';
import type { ActionServices } from './action-services';
import { evidenceOf } from './closings';
import { conclusionOf, type Conclusion } from './conclusions';
import { fencingCall } from './fencing-call';

/** @throws WaybillError `storage_unavailable`; nothing is lost: the call may be made again */
export async function askHost(
  services: ActionServices,
  request: AskRequest,
  signal: AbortSignal,
): Promise<Asked> {
  await point('fencing.begun');
  const { answer, request: body } = await beginFencing(services.data, request, request);
  if (answer.kind !== 'ask') return positionOf(answer.action);
  await point('fencing.opened');
  const result = await call(services, answer, body, signal);
  await point('fencing.answered');
  const conclusion = conclusionOf(result, answer, {
    round: request.round,
    random: services.random(),
  });
  const written = {
    ...conclusion.found,
    adopted: result.kind === 'answered' ? request.adopt : null,
    evidence: { ...evidenceOf(result), fence: answer.fence },
  };
  const at = { tenantId: request.tenantId, actionId: request.actionId, fence: answer.fence };
  const concluded = await patiently(() =>
    concludeFencing(services.data, at, written, conclusion.resultBytes),
  );
  await point('fencing.concluded');
  if (concluded.kind !== 'concluded') return { kind: 'look' };
  return toldOf(concluded.action, conclusion);
}

async function call(
  { hosts }: ActionServices,
  asked: Askable,
  body: Buffer | null,
  signal: AbortSignal,
): Promise<HostResult> {
  const common = fencingCall(asked, asked.timeoutMs, signal);
  if (asked.purpose === 'cancel') return await hosts.cancel(common);
  return await hosts.reconcile(common, body ?? undefined);
}

function toldOf(action: ActionPosition, { found, highestFence, adopt }: Conclusion): Asked {
  const position = positionOf(action);
  if (position.kind !== 'look' || found.kind !== 'again') return position;
  const { reason, detail, inMs } = found;
  return { kind: 'again', state: action.state, reason, detail, inMs, highestFence, adopt };
}

function positionOf(action: ActionPosition): Exclude<Asked, { kind: 'again' }> {
  if (isOpenAction(action.state)) return { kind: 'look' };
  return { kind: 'closed', state: action.state, deliveryId: action.deliveryId };
}
