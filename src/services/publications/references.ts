/**
 * What only the catalog can tell of a fleet: whether what it refers to exists and may be used, and
 * whether what it would change may change at all.
 */
import type { Fleet } from '../../schemas/fleet';
import { thingKey } from '../../schemas/fleet';
import type { FleetMistake } from '../../schemas/fleet/mistakes';
import type { Published } from './catalog-view';
import { intendedCatalog } from './catalog-view';
import type { Checked } from './references/checked';
import { connectorMistakes } from './references/connectors';
import { instanceMistakes } from './references/instances';
import { subscriptionMistakes } from './references/subscriptions';

export function referenceMistakes(fleet: Fleet, published: Published): FleetMistake[] {
  const checked: Checked = {
    published,
    intended: intendedCatalog(fleet, published),
    isBroken: (kind, key) => fleet.broken.has(thingKey(kind, key)),
  };
  return [
    ...fleet.connectors.flatMap((placed) => connectorMistakes(placed, checked)),
    ...fleet.instances.flatMap((placed) => instanceMistakes(placed, checked)),
    ...subscriptionMistakes(fleet.subscriptions, checked),
  ];
}
