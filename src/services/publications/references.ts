/**
 * What only the catalog can tell of a fleet: whether what it refers to exists and may be used, and
 * whether what it would change may change at all.
 */
import type { Fleet } from '../../schemas/fleet';
import { thingKey } from '../../schemas/fleet';
import type { FleetMistake } from '../../schemas/fleet/mistakes';
import type { Published } from './catalog-view';
import { bindingKey, things } from './catalog-view';
import { intendedCatalog } from './intended';
import { addressMistakes } from './references/addresses';
import { bindingMistakes } from './references/bindings';
import { capabilityMistakes } from './references/capabilities';
import type { Checked } from './references/checked';
import { connectorMistakes } from './references/connectors';
import { evidenceMistakes } from './references/evidence';
import { instanceMistakes } from './references/instances';
import { replicaMistakes } from './references/replicas';
import { subscriptionMistakes } from './references/subscriptions';
import { targetMistakes } from './references/targets';
import { evidenceRow } from './rows';

export function referenceMistakes(fleet: Fleet, published: Published): FleetMistake[] {
  const written = new Set(things(fleet.bindings).map(bindingKey));
  const checked: Checked = {
    published,
    intended: intendedCatalog(fleet, published),
    evidence: [...published.speakingEvidence, ...things(fleet.evidence).map(evidenceRow)],
    isWritten: (binding) => written.has(bindingKey(binding)),
    isReported: fleet.reported === true,
    isBroken: (kind, key) => fleet.broken.has(thingKey(kind, key)),
  };
  return [
    ...fleet.capabilities.flatMap((placed) => capabilityMistakes(placed, checked)),
    ...fleet.connectors.flatMap((placed) => connectorMistakes(placed, checked)),
    ...fleet.evidence.flatMap((placed) => evidenceMistakes(placed, checked)),
    ...fleet.instances.flatMap((placed) => instanceMistakes(placed, checked)),
    ...bindingMistakes(fleet.bindings, checked),
    ...fleet.replicas.flatMap((placed) => replicaMistakes(placed, checked)),
    ...fleet.targets.flatMap((placed) => targetMistakes(placed, checked)),
    ...fleet.eventSinks.flatMap(({ place, thing }) =>
      addressMistakes({ place }, ['url'], thing.url, checked),
    ),
    ...subscriptionMistakes(fleet.subscriptions, checked),
  ];
}
