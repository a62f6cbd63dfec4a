/**
 * What a publication changed, as a table: one line a field, or one a thing that is new. Of very many
 * the first ones.
 */
import type { FleetChange } from '../../services/publications/row-differences';
import { terminalWidth } from './output';
import { renderTable } from './table';

interface Line {
  readonly action: string;
  readonly thing: string;
  readonly field: string;
  readonly change: string;
}

const MAX_VALUE = 60;
/** More than anybody reads; rendering takes time that grows with their square. */
const MAX_LINES = 500;

export function changesTable(changes: readonly FleetChange[]): string {
  const lines = changes.flatMap(linesOf);
  const more = lines.length - MAX_LINES;
  const table = tableOf(lines.slice(0, MAX_LINES));
  return more > 0 ? `${table}\n… and ${more} more; --json has all of them` : table;
}

function tableOf(lines: readonly Line[]): string {
  return renderTable<Line>(
    [
      { title: 'action', value: (line) => line.action },
      { title: 'thing', value: (line) => line.thing },
      { title: 'field', value: (line) => line.field },
      { title: 'change', value: (line) => line.change, wraps: true },
    ],
    lines,
    terminalWidth(),
  );
}

function linesOf(change: FleetChange): Line[] {
  const { action, kind, tenant, id, fields } = change;
  const thing = `${kind} ${tenant === undefined ? '' : `${tenant}/`}${id}`;
  if (action === 'create') return [{ action, thing, field: '', change: `${fields.length} fields` }];
  return fields.map(({ field, before, after }) => ({
    ...{ action, thing, field },
    change: `${brief(before)} -> ${brief(after)}`,
  }));
}

function brief(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE - 1)}…` : text;
}
