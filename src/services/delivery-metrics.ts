/** The port by which the services tell what they did, for counting. Its methods never throw or wait. */
import type { DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryState } from '../domain/delivery-states';
import type { DeliveryDirection } from '../domain/events';
import type { Lane } from '../domain/lanes';
import type { DeliveryFacts } from '../schemas/delivery-rows';

export interface CountedDelivery {
  readonly tenantId: string;
  readonly connectorId: string;
  readonly direction: DeliveryDirection;
  readonly lane: Lane;
}

export interface DeliveryMetrics {
  /** A delivery came into this state, and that is committed. */
  reached(state: DeliveryState, about: CountedDelivery): void;
  /** A delivery's target was called for the first time, so long after the delivery's receipt. */
  dispatchedAfter(seconds: number, about: CountedDelivery): void;
}

export function countedAs(ref: DeliveryRef, facts: DeliveryFacts): CountedDelivery {
  const { connectorId, direction, lane } = facts;
  return { tenantId: ref.tenantId, connectorId, direction, lane };
}
