/** Registering search attributes in a namespace, Waybill's own where none are named. */
import type { Connection } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { encodeSearchAttributeIndexedValueType } from '@temporalio/common/lib/search-attributes';
import { SEARCH_ATTRIBUTES } from '../domain/search-attributes';

/** Search attributes by name, with Temporal's name of their type. */
export type SearchAttributeTypes = Readonly<Record<string, keyof typeof TYPE_NAMES>>;

const TYPE_NAMES = { Keyword: 'KEYWORD', Datetime: 'DATETIME' } as const;

/** ALREADY_EXISTS of gRPC. */
const ALREADY_EXISTS = 6;

/**
 * Adds what the namespace lacks and resolves with how many those were; what is there is left alone,
 * so that this may be repeated, and by several processes at once.
 */
export async function registerSearchAttributes(
  connection: Connection,
  namespace: string,
  attributes: SearchAttributeTypes = SEARCH_ATTRIBUTES,
): Promise<number> {
  const { operatorService } = connection;
  const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
  const missing = Object.entries(attributes).filter(([name]) => !(name in customAttributes));
  if (missing.length === 0) return 0;
  const searchAttributes = Object.fromEntries(
    missing.flatMap(([name, type]) => {
      const encoded = encodeSearchAttributeIndexedValueType(TYPE_NAMES[type]);
      return encoded === undefined ? [] : [[name, encoded] as const];
    }),
  );
  try {
    await operatorService.addSearchAttributes({ namespace, searchAttributes });
  } catch (error) {
    // Another process was faster.
    if (!(isGrpcServiceError(error) && (error.code as number) === ALREADY_EXISTS)) throw error;
  }
  return missing.length;
}
