/** What documents of one file say twice, or against each other. */
import type { BindingDocument } from './action-documents';
import type { ConnectorDocument, FleetDocuments, SubscriptionDocument } from './documents';
import type { FieldPath, FleetMistake, Place, Placed } from './mistakes';
import { mistakeAt } from './mistakes';

interface Named {
  readonly tenant: string;
  readonly id: string;
}

export function duplicateMistakes(fleet: FleetDocuments): FleetMistake[] {
  const nameOf = ({ tenant, id }: Named) => `${tenant}/${id}`;
  const versionOf = ({ id, version }: ConnectorDocument) => `${id}@${version}`;
  const idOf = ({ id }: { readonly id: string }) => id;
  const bindingOf = ({ tenant, capability, instance }: BindingDocument) =>
    `${tenant}/${capability}@${instance}`;
  return [
    ...repeated(fleet.settings, () => 'Settings', ['kind']),
    ...repeated(fleet.capabilities, idOf, ['id']),
    ...repeated(fleet.connectors, versionOf, ['version']),
    ...repeated(fleet.evidence, idOf, ['id']),
    ...repeated(fleet.quotaPolicies, idOf, ['id']),
    ...repeated(fleet.instances, nameOf, ['id']),
    ...repeated(fleet.bindings, bindingOf, ['instance']),
    // A host names no tenant: the id of its replica is unique over all of them.
    ...repeated(fleet.replicas, idOf, ['id']),
    ...repeated(fleet.targets, nameOf, ['id']),
    ...repeated(fleet.subscriptions, nameOf, ['id']),
    ...repeated(fleet.subscriptions.flatMap(refsOf), (ref) => ref, ['ingress', 'ref']),
    ...repeated(fleet.eventSinks, nameOf, ['id']),
    ...contradictions(fleet.connectors),
    ...disagreements(fleet.connectors),
  ];
}

/** Every reference that leads to a subscription's ingress. */
function refsOf({ place, thing }: Placed<SubscriptionDocument>): Placed<string>[] {
  const { ingress } = thing;
  if (ingress === null) return [];
  const refs = [ingress.ref, ...ingress.previous.map(({ ref }) => ref)];
  return refs.map((ref) => ({ place, thing: ref }));
}

function repeated<Thing>(
  placed: readonly Placed<Thing>[],
  keyOf: (thing: Thing) => string | null,
  path: FieldPath,
): FleetMistake[] {
  const first = new Map<string, Place>();
  return placed.flatMap(({ place, thing }) => {
    const key = keyOf(thing);
    const earlier = key === null ? undefined : first.get(key);
    if (key !== null && earlier === undefined) first.set(key, place);
    if (earlier === undefined) return [];
    return [mistakeAt(place, path, `is taken by ${earlier.document}; keep one of the two`)];
  });
}

/** Versions of one connector share its name, provider and owner. */
function contradictions(connectors: readonly Placed<ConnectorDocument>[]): FleetMistake[] {
  const first = new Map<string, Placed<ConnectorDocument>>();
  return connectors.flatMap(({ place, thing }) => {
    const earlier = first.get(thing.id);
    if (earlier === undefined) {
      first.set(thing.id, { place, thing });
      return [];
    }
    return (['name', 'provider', 'tenant'] as const)
      .filter((field) => thing[field] !== earlier.thing[field])
      .map((field) =>
        mistakeAt(place, [field], `must be the same as in ${earlier.place.document}`),
      );
  });
}

/** Whether a connector is enabled may be said in one of its versions, or in several alike. */
function disagreements(connectors: readonly Placed<ConnectorDocument>[]): FleetMistake[] {
  const first = new Map<string, Placed<ConnectorDocument>>();
  const said = connectors.filter(({ thing }) => thing.enabled !== null);
  return said.flatMap(({ place, thing }) => {
    const earlier = first.get(thing.id) ?? { place, thing };
    first.set(thing.id, earlier);
    if (earlier.thing.enabled === thing.enabled) return [];
    return [mistakeAt(place, ['enabled'], `must be the same as in ${earlier.place.document}`)];
  });
}
