/** How the row of a document differs from the one that is published. */
import type { FleetKind } from '../../schemas/fleet/documents';
import type { FieldChange } from './differences';
import { differences } from './differences';

/** What a publication does to one thing. */
export interface FleetChange {
  readonly kind: FleetKind;
  /** `github@1.0.0` for a connector version, `issues.open@main` for a binding. */
  readonly id: string;
  readonly tenant?: string;
  readonly action: 'create' | 'update';
  readonly fields: readonly FieldChange[];
}

export interface Difference<Row> {
  readonly row: Row;
  readonly change: FleetChange;
}

/** Names of a row that are no field of its own. */
interface RowNames {
  readonly kind: FleetKind;
  readonly id: string;
  readonly tenant: string | null;
}

/** `shown` are the fields that are compared and told. */
export function rowDifference<Row>(
  { kind, id, tenant }: RowNames,
  row: Row,
  shown: { readonly before: object | undefined; readonly after: object },
): Difference<Row> {
  const { before, after } = shown;
  const known =
    before && Object.fromEntries(Object.entries(before).filter(([name]) => name in after));
  const fields = differences(known ?? null, after);
  const action = before === undefined ? 'create' : 'update';
  return { row, change: { kind, id, ...(tenant === null ? {} : { tenant }), action, fields } };
}

/** What is new is a difference, be all of its fields empty. */
export function differs({ change }: Difference<unknown>): boolean {
  return change.action === 'create' || change.fields.length > 0;
}
