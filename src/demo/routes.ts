/** Where an event of the example fleet comes in and where it ends. */
import { WaybillError } from '../domain/errors';
import type { Fleet } from '../schemas/fleet';

export interface EventRoute {
  readonly tenant: string;
  readonly ingressRef: string;
  readonly targetUrl: string;
}

/**
 * The subscription with an ingress that takes this event type.
 * @throws WaybillError `config_invalid` when the fleet has none
 */
export function routeOf(fleet: Fleet, eventType: string): EventRoute {
  for (const { thing } of fleet.subscriptions) {
    const takes = thing.eventTypes.includes(eventType) || thing.eventTypes.includes('*');
    const target = fleet.targets.find(
      (placed) => placed.thing.tenant === thing.tenant && placed.thing.id === thing.target,
    );
    if (!takes || thing.ingress === null || target === undefined) continue;
    const { tenant, ingress } = thing;
    return { tenant, ingressRef: ingress.ref, targetUrl: target.thing.http.url };
  }
  throw new WaybillError('config_invalid', `the fleet has no subscription for ${eventType}`);
}
