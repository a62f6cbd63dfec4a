/** One fencing call: reconcile, or cancel where somebody wants the action stopped. */
import { beginFencing, concludeFencing, type Found } from '../../db/action-steps';
import type { AskRequest, Asked } from '../../domain/action-activities';
import { isOpenAction } from '../../domain/action-states';
import type { ActionReceiptFacts, WantedActionReceipt } from '../../domain/receipts';
import type { HostResult } from '../../hosts/client/results';
import { point } from '../../points';
import type { ActionPosition, Askable } from '../../schemas/action-step-rows';
import { patiently } from '../patience';
import type { ActionServices } from './action-services';
import { evidenceOf } from './closings';
import { conclusionOf, type Conclusion } from './conclusions';
import { fencingCall } from './fencing-call';
import { closingReceipt, digestOf, expectedReceipt } from './receipts';

/** @throws WaybillError `storage_unavailable`; nothing is lost: the call may be made again */
export async function askHost(
  services: ActionServices,
  request: AskRequest,
  signal: AbortSignal,
): Promise<Asked> {
  await point('fencing.begun');
  const { answer, request: body } = await beginFencing(
    services.data,
    request,
    request,
    services.sign(request, {}),
  );
  if (answer.kind !== 'ask') return positionOf(answer.action);
  await point('fencing.opened');
  const openedAtMs = performance.now();
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
    resultBytes: conclusion.resultBytes,
  };
  const at = { tenantId: request.tenantId, actionId: request.actionId, fence: answer.fence };
  const sign = services.sign(at, attested(conclusion, answer));
  const concluded = await patiently(() => {
    const expected = expectedOf(conclusion.found, answer, performance.now() - openedAtMs);
    return concludeFencing(services.data, at, written, { expected, sign });
  });
  await point('fencing.concluded');
  if (concluded.kind !== 'concluded') return { kind: 'look' };
  return toldOf(concluded.action, conclusion);
}

/** What a receipt says of what was found. */
function attested(
  { found, resultBytes }: Conclusion,
  { fence, route }: Askable,
): Partial<ActionReceiptFacts> {
  const asked = { fence, replicaId: route.replicaId };
  switch (found.kind) {
    case 'result': {
      const { errorCode, detail } = found.result;
      return { ...asked, errorCode, resultSha256: digestOf(resultBytes), reason: detail };
    }
    case 'needs_operator':
      return { ...asked, finding: found.kind, reason: found.reason };
    case 'not_started':
    case 'repeatable':
      return { ...asked, finding: found.kind };
    case 'again':
      return asked;
  }
}

/** The receipt that is due unless something else was written meanwhile; null: none. */
function expectedOf(
  found: Found,
  { purpose, receipts }: Askable,
  agoMs: number,
): WantedActionReceipt | null {
  if (found.kind === 'again') return null;
  const kind =
    found.kind === 'result'
      ? closingReceipt(found.result.outcome)
      : found.kind === 'not_started' && purpose === 'cancel'
        ? 'action_cancelled'
        : 'host_found';
  return expectedReceipt(receipts, kind, Math.round(agoMs));
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
