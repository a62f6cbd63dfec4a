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
