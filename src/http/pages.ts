/** One page of a list, with the cursor that leads to the next one. */
import type { CursorPosition, CursorScope } from './cursors';
import { readCursor, writeCursor } from './cursors';

interface PageRequest {
  readonly cursorKey: Uint8Array;
  readonly scope: CursorScope;
  readonly limit: number;
  readonly cursor: string | undefined;
}

interface Page<Row> {
  readonly rows: Row[];
  readonly nextCursor: string | null;
}

/**
 * Reads a page from the place that the request's cursor names.
 * @param read at most so many rows, from behind that place on
 * @param position of a row in the list
 * @throws WaybillError `invalid_cursor`
 */
export async function readPage<Row>(
  { cursorKey, scope, limit, cursor }: PageRequest,
  read: (after: CursorPosition | null, limit: number) => Promise<readonly Row[]>,
  position: (row: Row) => CursorPosition,
): Promise<Page<Row>> {
  const after = cursor === undefined ? null : readCursor(cursorKey, scope, cursor);
  // One row more than asked for says whether there is another page.
  const found = await read(after, limit + 1);
  const rows = found.slice(0, limit);
  const last = found.length > limit ? rows.at(-1) : undefined;
  const nextCursor = last === undefined ? null : writeCursor(cursorKey, scope, position(last));
  return { rows, nextCursor };
}
