/** Tables without borders that fit the terminal: unimportant columns give way, one column wraps. */
import Table from 'cli-table3';
import { visible } from './output';

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Columns with a number give way on a narrow terminal, the highest number first. */
  readonly optional?: number;
  /** Takes what room is left, and wraps its words there. */
  readonly wraps?: true;
}

const GAP = '  ';
const NARROWEST_WRAP = 16;
const MAX_CELL = 1_000;

/** One text line a row, unless a column wraps; no trailing blanks. */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): string {
  const shown = fitting(columns, rows, width);
  const widths = shown.map((column) => naturalWidth(column, rows));
  const wrapping = shown.findIndex((column) => column.wraps === true);
  const table = new Table({
    head: shown.map((column) => column.title.toUpperCase()),
    colWidths: shown.map((_, at) =>
      at === wrapping ? room(widths, at, width) : (widths[at] ?? 0),
    ),
    wordWrap: true,
    chars: BORDERLESS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) table.push(shown.map((column) => clipped(column.value(row))));
  return withoutTrailingBlanks(table.toString());
}

export function withoutTrailingBlanks(text: string): string {
  return text.replaceAll(/ +$/gm, '');
}

export const BORDERLESS = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '' },
  middle: GAP,
};

function fitting<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: number,
): readonly Column<Row>[] {
  const needed = columns.map((column) => {
    const natural = naturalWidth(column, rows);
    return column.wraps === true ? Math.min(natural, NARROWEST_WRAP) : natural;
  });
  if (sum(needed) + GAP.length * (columns.length - 1) <= width) return columns;
  const first = Math.max(...columns.map((column) => column.optional ?? 0));
  if (first === 0) return columns;
  return fitting(
    columns.filter((column) => column.optional !== first),
    rows,
    width,
  );
}

/** Wrapping takes time that grows with the square of a word's length, and nobody reads that much. */
function clipped(text: string): string {
  return visible(text.length > MAX_CELL ? `${text.slice(0, MAX_CELL)} …` : text);
}

function naturalWidth<Row>(column: Column<Row>, rows: readonly Row[]): number {
  return Math.max(column.title.length, ...rows.map((row) => clipped(column.value(row)).length), 1);
}

function room(widths: readonly number[], at: number, width: number): number {
  const own = widths[at] ?? 0;
  const others = sum(widths) - own + GAP.length * (widths.length - 1);
  return Math.max(Math.min(own, width - others), NARROWEST_WRAP);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
