/**
 * The integration events: the topic of each by its name, and the payload fields of docs/architecture,
 * "Events". An event is written to the outbox in the transaction of the state it tells of, with a
 * sequence number per aggregate.
 */
import type { DeliveryId, SubscriptionId, TenantId } from './ids';

export const EVENT_TOPICS = {
  ConnectorActivated: 'connectors.connectors.v1.connector-activated',
  ConnectorDeprecated: 'connectors.connectors.v1.connector-deprecated',
  ConnectorSubscriptionChanged: 'connectors.subscriptions.v1.connector-subscription-changed',
  DeliveryReceived: 'connectors.deliveries.v1.delivery-received',
  DeliveryDispatched: 'connectors.deliveries.v1.delivery-dispatched',
  DeliveryFailed: 'connectors.deliveries.v1.delivery-failed',
  DeliveryReplayed: 'connectors.deliveries.v1.delivery-replayed',
} as const;

export type EventName = keyof typeof EVENT_TOPICS;
export type EventTopic = (typeof EVENT_TOPICS)[EventName];

export const EVENT_TYPES: readonly EventTopic[] = Object.values(EVENT_TOPICS);

/** The tenant of what belongs to no tenant: no tenant's name begins with an underscore. */
export const PLATFORM_TENANT = '_platform';

export type DeliveryDirection = 'inbound' | 'outbound';

/** Payload of each event, by name. */
export interface EventPayloads {
  readonly ConnectorActivated: {
    readonly connectorId: string;
    readonly version: string;
    readonly tenantId: string;
    readonly provider: string;
  };
  readonly ConnectorDeprecated: {
    readonly connectorId: string;
    readonly version: string;
    readonly tenantId: string;
  };
  readonly ConnectorSubscriptionChanged: {
    readonly subscriptionId: SubscriptionId;
    readonly tenantId: TenantId;
    readonly connectorId: string;
    readonly active: boolean;
  };
  readonly DeliveryReceived: {
    readonly deliveryId: DeliveryId;
    readonly tenantId: TenantId;
    readonly connectorId: string;
    readonly subscriptionId: SubscriptionId | null;
    readonly eventType: string;
    /** Lower-case hex SHA-256 of the stored bytes. */
    readonly payloadHash: string;
  };
  readonly DeliveryDispatched: {
    readonly deliveryId: DeliveryId;
    readonly tenantId: TenantId;
    readonly direction: DeliveryDirection;
    readonly receiptRef: string;
    /** These only where the target is of the kind `event`: the event is what reaches it. */
    readonly targetId?: string;
    readonly connectorId?: string;
    readonly subscriptionId?: SubscriptionId;
    readonly eventType?: string;
    readonly payloadHash?: string;
  };
  readonly DeliveryFailed: {
    readonly deliveryId: DeliveryId;
    readonly tenantId: TenantId;
    readonly direction: DeliveryDirection;
    readonly reason: string;
  };
  readonly DeliveryReplayed: {
    readonly deliveryId: DeliveryId;
    readonly tenantId: TenantId;
    readonly replayedBy: string;
  };
}

/** An event with its place, as the outbox keeps it. */
export interface OutboxEvent {
  /** The tenant's, or `_platform`. */
  readonly tenantId: string;
  /** What it tells of, e.g. `delivery/0198…`. */
  readonly aggregate: string;
  /** Of that aggregate: 1, 2, 3 … */
  readonly sequence: number;
  /** Place in the feed. */
  readonly feedNo: number;
  readonly topic: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** UTC, in microseconds. */
  readonly occurredAt: string;
}

/** CloudEvents 1.0, JSON format; attributes beyond the specification's own are extensions. */
export interface CloudEvent {
  readonly specversion: '1.0';
  /** The same however often it is sent, and no other event's: the receiver's key against repeats. */
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly datacontenttype: 'application/json';
  readonly tenant: string;
  /** Of the subject, beginning with 1 and without gaps. */
  readonly sequence: string;
  readonly sequencetype: 'Integer';
  readonly data: Readonly<Record<string, unknown>>;
}

/** The event as it leaves Waybill (docs/architecture, "Events"). */
export function cloudEvent(event: OutboxEvent): CloudEvent {
  const { tenantId, aggregate, sequence, topic, data, occurredAt } = event;
  return {
    specversion: '1.0',
    id: `${tenantId}/${aggregate}/${String(sequence)}`,
    source: `urn:waybill:${tenantId}`,
    type: topic,
    subject: aggregate,
    time: occurredAt,
    datacontenttype: 'application/json',
    tenant: tenantId,
    sequence: String(sequence),
    sequencetype: 'Integer',
    data,
  };
}
