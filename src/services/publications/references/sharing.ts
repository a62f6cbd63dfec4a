/**
 * Two accounts of one tenant at one priority: the work would go to either, so all of them must say
 * that this is meant (docs/architecture, "Publishing").
 */
import type { BindingRow } from '../../../schemas/catalog-rows';
import type { BindingDocument } from '../../../schemas/fleet/action-documents';
import type { FleetMistake, Placed } from '../../../schemas/fleet/mistakes';
import { mistakeAt } from '../../../schemas/fleet/mistakes';
import { bindingKey } from '../catalog-view';
import type { Checked } from './checked';

export function sharingMistakes(
  bindings: readonly Placed<BindingDocument>[],
  { intended }: Checked,
): FleetMistake[] {
  const levels = new Map<string, BindingRow[]>();
  for (const row of intended.bindings.filter(({ enabled }) => enabled)) {
    levels.set(levelOf(row), [...(levels.get(levelOf(row)) ?? []), row]);
  }
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

function levelOf(row: Pick<BindingRow, 'tenant' | 'capability' | 'priority'>): string {
  return `${row.tenant}/${row.capability}#${row.priority}`;
}
