/** A Temporal server that the environment names: looked at before anything relies on it. */
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { WaybillError } from '../../domain/errors';

const CONNECT_TIMEOUT_MS = 5_000;
/** NOT_FOUND of gRPC. */
const NOT_FOUND: number = 5;

/**
 * Answers its address and namespace, once it answers for them.
 * @throws WaybillError `temporal_unreachable` naming address, namespace and what to check
 */
export async function requireTemporal(environment: NodeJS.ProcessEnv): Promise<string> {
  const { connectionOptions, namespace = 'default' } = loadClientConnectConfig({
    overrideEnvVars: Object.fromEntries(
      Object.entries(environment).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, value]],
      ),
    ),
  });
  const address = connectionOptions.address ?? '';
  try {
    const connection = await Connection.connect({
      ...connectionOptions,
      connectTimeout: CONNECT_TIMEOUT_MS,
    });
    await connection.workflowService
      .describeNamespace({ namespace })
      .finally(() => connection.close());
    return `${address}, namespace ${namespace}`;
  } catch (error) {
    const missing = isGrpcServiceError(error) && (error.code as number) === NOT_FOUND;
    throw new WaybillError(
      'temporal_unreachable',
      missing
        ? `the Temporal server at ${address} has no namespace ${namespace}; create it, or set TEMPORAL_NAMESPACE`
        : `no Temporal server answers at ${address}; see TEMPORAL_ADDRESS, or unset it to have one started`,
      { cause: error },
    );
  }
}
