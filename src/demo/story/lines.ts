/** The lines of the story. What each says it saw comes from the API, the receiver and Temporal. */
import type { DeliveryHistory } from '../../schemas/api-deliveries';
import type { Payload } from '../payloads';
import type { Outcome, StoryDeps } from './deps';
import { demand, eventually } from './expect';
import {
  demandGenuine,
  describeReply,
  reached,
  receivedOnce,
  send,
  sendAccepted,
  times,
} from './moves';

const VISIBILITY_DEADLINE_MS = 15_000;

/** Verified, dispatched and acknowledged. */
export async function dispatched(
  deps: StoryDeps,
  payload: Payload,
  guid: string,
): Promise<{ readonly outcome: Outcome; readonly delivery: DeliveryHistory }> {
  const deliveryId = await sendAccepted(deps, payload, guid);
  const delivery = await reached(deps, deliveryId, 'Acknowledged');
  const { bytes } = await receivedOnce(deps, deliveryId, payload);
  const tries = times(delivery.attempts, 'attempt');
  return {
    delivery,
    outcome: {
      id: deliveryId,
      seen: `202; Acknowledged after ${tries}; received once, signed, ${bytes} bytes`,
      url: delivery.workflowUrl,
    },
  };
}

/** The same delivery again is recorded and goes nowhere. */
export async function repeated(
  deps: StoryDeps,
  payload: Payload,
  first: { readonly guid: string; readonly deliveryId: string },
): Promise<Outcome> {
  const reply = await send(deps, payload, first.guid);
  demand(
    reply.kind === 'taken' && reply.answer.outcome === 'duplicate',
    `not a duplicate: ${describeReply(reply)}`,
  );
  const { deliveryId, firstDeliveryId } = reply.answer;
  demand(firstDeliveryId === first.deliveryId, `it names ${firstDeliveryId} as the first`);
  const record = await reached(deps, deliveryId, 'Deduplicated');
  demand(record.duplicateOf === first.deliveryId, 'its record names another delivery');
  await receivedOnce(deps, first.deliveryId, payload);
  demand((await deps.receiver.records(deliveryId)).length === 0, 'the copy was dispatched');
  const seen = `202 naming ${first.deliveryId}; Deduplicated; dispatched once`;
  return { id: deliveryId, seen, url: null };
}

/** A bad signature leaves a record and nothing else: its id may still come in, rightly signed. */
export async function refused(deps: StoryDeps, payload: Payload): Promise<Outcome> {
  const guid = deps.newGuid();
  const reply = await send(deps, payload, guid, 'not-the-secret');
  demand(reply.kind === 'refused' && reply.status === 401, `not refused: ${describeReply(reply)}`);
  const { deliveries } = await deps.api.list({ state: 'Rejected', externalId: guid });
  const [record] = deliveries;
  demand(record !== undefined && deliveries.length === 1, 'there is no record of the refusal');
  demand(
    (await deps.receiver.records(record.deliveryId)).length === 0,
    'what was refused was dispatched',
  );
  await dispatched(deps, payload, guid);
  return {
    id: record.deliveryId,
    seen: '401; Rejected; not dispatched; the same id, signed rightly, then came in as new',
    url: null,
  };
}

export interface FailedDelivery {
  readonly deliveryId: string;
  readonly attempts: number;
}

/** The target is down: tried again, failed, and found by whoever looks. */
export async function failed(
  deps: StoryDeps,
  payload: Payload,
): Promise<{ readonly outcome: Outcome; readonly delivery: FailedDelivery }> {
  const guid = deps.newGuid();
  await deps.receiver.answer({ path: deps.targetPath(payload), status: 503 });
  const deliveryId = await sendAccepted(deps, payload, guid);
  const delivery = await reached(deps, deliveryId, 'Failed');
  const { attempts } = delivery;
  demand(attempts > 1, `it failed after ${times(attempts, 'attempt')}, without a retry`);
  const received = await deps.receiver.records(deliveryId);
  demand(received.length === attempts, `the receiver got it ${received.length} times`);
  await demandFound(deps, delivery, guid);
  const seen = `503 from the target; Failed after ${attempts} attempts; found by list and Temporal UI`;
  const outcome = { id: deliveryId, seen, url: delivery.workflowUrl };
  return { outcome, delivery: { deliveryId, attempts } };
}

async function demandFound(
  deps: StoryDeps,
  { deliveryId, workflowId }: DeliveryHistory,
  guid: string,
): Promise<void> {
  const listed = await deps.api.list({ state: 'Failed', externalId: guid });
  demand(
    listed.deliveries.some((row) => row.deliveryId === deliveryId),
    'the list of failed deliveries does not hold it',
  );
  await eventually('the failed delivery in Temporal', VISIBILITY_DEADLINE_MS, async () =>
    workflowId !== null && (await deps.failedWorkflows()).includes(workflowId) ? true : null,
  );
}

/** Its target works again and the operator replays: the same delivery, a new attempt. */
export async function replayed(
  deps: StoryDeps,
  payload: Payload,
  { deliveryId, attempts }: FailedDelivery,
): Promise<Outcome> {
  const accepted = await deps.api.replay(deliveryId, 'the target of the story was repaired');
  demand(accepted.outcome === 'replayed', `the replay was answered ${accepted.outcome}`);
  const delivery = await reached(deps, deliveryId, 'Acknowledged');
  demand(delivery.attempts === attempts + 1, `it has ${times(delivery.attempts, 'attempt')} now`);
  const last = (await deps.receiver.records(deliveryId)).at(-1);
  demand(last !== undefined && last.status === 200, 'the receiver did not take it');
  demandGenuine(last, payload);
  demand(last.attempt === attempts + 1 && last.replay === 1, 'the receiver saw another attempt');
  const seen = `same delivery id, attempt ${last.attempt}; Acknowledged`;
  return { id: deliveryId, seen, url: delivery.workflowUrl };
}
