/**
 * Several accounts of one tenant for one capability (docs/architecture, "Publishing"). At one priority
 * the work would go to either, so all of them must say that this is meant; and routing looks at a
 * bounded number of them.
 */
import type { BindingRow } from '../../../schemas/catalog-rows';
import type { BindingDocument } from '../../../schemas/fleet/action-documents';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { bindingKey } from '../catalog-view';
import type { Checked } from './checked';

/** The database's `binding_chain` reads no more of one capability of a tenant. */
const MOST_ACCOUNTS = 64;

export function sharingMistakes(
  bindings: readonly Placed<BindingDocument>[],
  checked: Checked,
): FleetMistake[] {
  const enabled = checked.intended.bindings.filter((row) => row.enabled);
  return [
    ...levelMistakes(bindings, grouped(enabled, levelOf)),
    ...crowdMistakes(bindings, grouped(enabled, offerOf), checked),
  ];
}

type Groups = ReadonlyMap<string, readonly BindingRow[]>;

function levelMistakes(
  bindings: readonly Placed<BindingDocument>[],
  levels: Groups,
): FleetMistake[] {
  return bindings.flatMap(({ place, thing }) => {
    if (!thing.enabled) return [];
    const others = (levels.get(levelOf(thing)) ?? []).filter(
      (row) => bindingKey(row) !== bindingKey(thing) && !(row.spread && thing.spread),
    );
    if (others.length === 0) return [];
    const accounts = others.map(({ instance }) => instance).join(', ');
    const problem =
      `instance ${accounts} has the same priority for ${thing.capability}; give them different ones, ` +
      'or say spread: true in each of these bindings';
    return [mistakeAt(place, ['priority'], problem)];
  });
}

/** Those that serve already are not to blame. */
function crowdMistakes(
  bindings: readonly Placed<BindingDocument>[],
  offers: Groups,
  { published }: Checked,
): FleetMistake[] {
  return bindings.flatMap(({ place, thing }) => {
    const count = offers.get(offerOf(thing))?.length ?? 0;
    const serves = published.bindings.get(bindingKey(thing))?.enabled === true;
    if (!thing.enabled || serves || count <= MOST_ACCOUNTS) return [];
    const problem =
      `tenant ${thing.tenant} would have ${count} enabled bindings of ${thing.capability}; ` +
      `at most ${MOST_ACCOUNTS} are routed to, so disable some`;
    return [mistakeAt(place, ['capability'], problem)];
  });
}

function grouped(rows: readonly BindingRow[], keyOf: (row: BindingRow) => string): Groups {
  const groups = new Map<string, BindingRow[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row)) ?? [];
    group.push(row);
    groups.set(keyOf(row), group);
  }
  return groups;
}

type Offer = Pick<BindingRow, 'tenant' | 'capability'>;

function offerOf({ tenant, capability }: Offer): string {
  return `${tenant}/${capability}`;
}

function levelOf(row: Offer & Pick<BindingRow, 'priority'>): string {
  return `${offerOf(row)}#${row.priority}`;
}
