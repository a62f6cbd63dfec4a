import { connect } from 'node:net';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import {
  registerSearchAttributes,
  type SearchAttributeTypes,
} from '../../temporal/search-attributes';

const CALL_TIMEOUT_MS = 5_000;
/** gRPC codes of a server that is still coming up: deadline exceeded, not found, unavailable. */
const NOT_YET = new Set<number>([4, 5, 14]);

/**
 * True when the server at `address` (`host:port`) answers for the namespace and has the search
 * attributes; missing ones are registered, which flags of the dev server do only for a namespace
 * that is new. Throws when the server refuses for good.
 */
export async function isServing(
  address: string,
  namespace: string,
  attributes: SearchAttributeTypes,
): Promise<boolean> {
  // A gRPC channel that was refused once waits a second before it tries again; a socket does not.
  if (!(await accepts(address))) return false;
  const connection = Connection.lazy({ address });
  try {
    return await connection.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
      await connection.workflowService.describeNamespace({ namespace });
      return (await registerSearchAttributes(connection, namespace, attributes)) === 0;
    });
  } catch (error) {
    if (isGrpcServiceError(error) && NOT_YET.has(error.code)) return false;
    throw error;
  } finally {
    await connection.close();
  }
}

function accepts(address: string): Promise<boolean> {
  const colon = address.lastIndexOf(':');
  const socket = connect(Number(address.slice(colon + 1)), address.slice(0, colon));
  return new Promise((resolve) => {
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => {
      resolve(false);
    });
  });
}
