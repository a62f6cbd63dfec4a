/**
 * What only the catalog can tell of a fleet: whether what it refers to exists and may be used, and
 * whether what it would change may change at all.
 */
import type { Fleet } from '../../schemas/fleet';
import { thingKey } from '../../schemas/fleet';
import type { FleetMistake } from '../../schemas/fleet/mistakes';
import type { Intended, Published } from './catalog-view';
import { intendedCatalog } from './catalog-view';
import { connectorMistakes } from './references/connectors';
import { instanceMistakes } from './references/instances';
import { subscriptionMistakes } from './references/subscriptions';

/** What every check looks at. */
export interface Checked {
  readonly published: Published;
  readonly intended: Intended;
  /** A document of that key is in the file, but has mistakes of its own. */
  isBroken(...key: Parameters<typeof thingKey>): boolean;
}

export function referenceMistakes(fleet: Fleet, published: Published): FleetMistake[] {
  const checked: Checked = {
    published,
    intended: intendedCatalog(fleet, published),
    isBroken: (...key) => fleet.broken.has(thingKey(...key)),
  };
  return [
    ...fleet.connectors.flatMap((placed) => connectorMistakes(placed, checked)),
    ...fleet.instances.flatMap((placed) => instanceMistakes(placed, checked)),
    ...subscriptionMistakes(fleet.subscriptions, checked),
  ];
}
