/** The moves that the story's lines are made of; each demands what must be true after it. */
import { createHash } from 'node:crypto';
import type { DeliveryHistory } from '../../schemas/api-deliveries';
import { postWebhook, type WebhookReply } from '../github';
import type { Payload } from '../payloads';
import type { ReceiverRecord } from '../receiver-records';
import type { StoryDeps } from './deps';
import { demand, eventually } from './expect';

/** Much longer than anything takes, except for what waits for a restarted server. */
const SETTLE_DEADLINE_MS = 15_000;

export function send(
  deps: StoryDeps,
  payload: Payload,
  guid: string,
  secret: string = deps.githubSecret,
): Promise<WebhookReply> {
  return postWebhook({ url: deps.ingressUrl(payload), payload, guid, secret });
}

/** Sends it as a new delivery, which must be accepted; answers its id. */
export async function sendAccepted(
  deps: StoryDeps,
  payload: Payload,
  guid: string,
): Promise<string> {
  return acceptedId(await send(deps, payload, guid));
}

/** The id of the delivery that it became. */
export function acceptedId(reply: WebhookReply): string {
  demand(
    reply.kind === 'taken' && reply.answer.outcome === 'accepted',
    `not accepted: ${describeReply(reply)}`,
  );
  return reply.answer.deliveryId;
}

/** Waits until the delivery has this state. */
export function reached(
  deps: StoryDeps,
  deliveryId: string,
  state: DeliveryHistory['state'],
  deadlineMs: number = SETTLE_DEADLINE_MS,
): Promise<DeliveryHistory> {
  return eventually(`${deliveryId} in state ${state}`, deadlineMs, async () => {
    const delivery = await deps.api.show(deliveryId);
    return delivery.state === state ? delivery : null;
  });
}

/** The one request with which the receiver took it: signed, and these very bytes. */
export async function receivedOnce(
  deps: StoryDeps,
  deliveryId: string,
  payload: Payload,
): Promise<ReceiverRecord> {
  const records = await deps.receiver.records(deliveryId);
  const [record] = records;
  demand(
    record !== undefined && records.length === 1,
    `the receiver got it ${records.length} times`,
  );
  demandGenuine(record, payload);
  return record;
}

export function demandGenuine(record: ReceiverRecord, payload: Payload): void {
  demand(record.signature === 'verified', 'the receiver could not verify the signature');
  const sha256 = createHash('sha256').update(payload.body).digest('hex');
  demand(record.sha256 === sha256, 'the receiver got other bytes than were sent');
}

export function describeReply(reply: WebhookReply): string {
  return reply.kind === 'taken'
    ? `${reply.status} ${reply.answer.outcome}`
    : `${reply.status} ${reply.code}`;
}

export function times(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
