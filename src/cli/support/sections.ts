/** Parts of a page for people. What is empty is left out. */
import { renderTable, type Column } from './table';

/** Sections with a blank line between them. */
export function page(sections: readonly string[]): string {
  return sections.filter((section) => section !== '').join('\n\n');
}

/** One line a pair, the values beneath each other. */
export function facts(pairs: readonly (readonly [string, string])[]): string {
  const shown = pairs.filter(([, value]) => value !== '');
  const widest = Math.max(0, ...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(widest)}  ${value}`).join('\n');
}

/** A section beneath its title. */
export function titled(title: string, body: string): string {
  return body === '' ? '' : `${title.toUpperCase()}\n${body.replaceAll(/^/gm, '  ')}`;
}

/** @param width of the page; the table is indented */
export function table<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): string {
  return rows.length === 0 ? '' : renderTable(columns, rows, width - 2);
}

/** Any value in one line. */
export function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
