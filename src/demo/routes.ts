/** Where an event of the example fleet comes in and where it ends. */
import { WaybillError } from '../domain/errors';
import type { Fleet } from '../schemas/fleet';
import type { SubscriptionDocument } from '../schemas/fleet/documents';
import type { TargetDocument } from '../schemas/fleet/target-documents';

export interface EventRoute {
  readonly tenant: string;
  readonly ingressRef: string;
  readonly targetUrl: string;
}

export interface ActionEventRoute {
  readonly ingressRef: string;
  readonly capabilityId: string;
}

/**
 * The subscription with an ingress that takes this event type and sends it on over HTTP.
 * @throws WaybillError `config_invalid` when the fleet has none
 */
export function routeOf(fleet: Fleet, eventType: string): EventRoute {
  for (const { subscription, ingressRef, target } of taking(fleet, eventType)) {
    const targetUrl = target.http?.url;
    if (targetUrl !== undefined) return { tenant: subscription.tenant, ingressRef, targetUrl };
  }
  throw missing(eventType);
}

/**
 * The subscription with an ingress that takes this event type and makes an action of it.
 * @throws WaybillError `config_invalid` when the fleet has none
 */
export function actionRouteOf(fleet: Fleet, eventType: string): ActionEventRoute {
  for (const { ingressRef, target } of taking(fleet, eventType)) {
    const capabilityId = target.action?.capabilityId;
    if (capabilityId !== undefined) return { ingressRef, capabilityId };
  }
  throw missing(eventType);
}

interface Taking {
  readonly subscription: SubscriptionDocument;
  readonly ingressRef: string;
  readonly target: TargetDocument;
}

function taking({ subscriptions, targets }: Fleet, eventType: string): Taking[] {
  return subscriptions.flatMap(({ thing: subscription }) => {
    const { tenant, eventTypes, ingress } = subscription;
    const target = targets.find(
      ({ thing }) => thing.tenant === tenant && thing.id === subscription.target,
    )?.thing;
    const takes = eventTypes.includes(eventType) || eventTypes.includes('*');
    if (!takes || ingress === null || target === undefined) return [];
    return [{ subscription, ingressRef: ingress.ref, target }];
  });
}

function missing(eventType: string): WaybillError {
  return new WaybillError('config_invalid', `the fleet has no subscription for ${eventType}`);
}
