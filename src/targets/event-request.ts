/** The request by which a sink gets one event: CloudEvents over HTTP in structured mode, signed. */
import type { CloudEvent } from '../domain/events';
import { signStandardWebhook } from '../signing/webhooks/standard-sign';

export interface EventRequest {
  readonly event: CloudEvent;
  /** Secrets of the sink, newest first; at least one. */
  readonly secrets: readonly string[];
  /** When it is sent, ms since the epoch. */
  readonly sentAtMs: number;
}

/** Headers, names in lower case, and body. `webhook-id` is the event's id, however often it is sent. */
export function eventRequest({ event, secrets, sentAtMs }: EventRequest): {
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
} {
  const body = Buffer.from(JSON.stringify(event), 'utf8');
  return {
    body,
    headers: {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      'user-agent': 'waybill',
      ...signStandardWebhook({ id: event.id, sentAtMs, body, secrets }),
    },
  };
}
