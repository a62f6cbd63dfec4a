/** Registering Waybill's search attributes in the namespace. */
import type { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes';

/** Values of the server's IndexedValueType. */
const INDEXED_VALUE_TYPES = { Keyword: 2, Datetime: 6 } as const;

/** ALREADY_EXISTS of gRPC. */
const ALREADY_EXISTS = 6;

/** Adds what is missing; one that is there already is left alone, so that this may be repeated. */
export async function registerSearchAttributes(
  connection: Connection,
  namespace: string,
): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(SEARCH_ATTRIBUTES).filter(([name]) => !(name in customAttributes));
  if (missing.length === 0) return;
  try {
    await connection.operatorService.addSearchAttributes({
      namespace,
      searchAttributes: Object.fromEntries(
        missing.map(([name, type]) => [name, INDEXED_VALUE_TYPES[type]]),
      ),
    });
  } catch (error) {
    // Another process was faster.
    if (!isAlreadyThere(error)) throw error;
  }
}

function isAlreadyThere(error: unknown): boolean {
  return (
    typeof error === 'object' && error !== null && 'code' in error && error.code === ALREADY_EXISTS
  );
}
