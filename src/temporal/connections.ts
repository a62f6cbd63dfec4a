/**
 * Connections to Temporal. Address, namespace, TLS and API key come from Temporal's own standard
 * environment variables and configuration file.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { NativeConnection } from '@temporalio/worker';
import { WaybillError } from '../domain/errors';
import { backoffMs } from '../domain/retry';

export interface TemporalSettings {
  readonly address: string;
  readonly namespace: string;
}

/** Where Temporal is, as the environment says; a server on this machine when it says nothing. */
export function temporalSettings(): TemporalSettings {
  const { connectionOptions, namespace } = loadClientConnectConfig();
  return {
    address: connectionOptions.address ?? '127.0.0.1:7233',
    namespace: namespace ?? 'default',
  };
}

/** A client that connects when it is first used, and again whenever it must. */
export function temporalClient(): {
  readonly client: Client;
  readonly connection: Connection;
  close(): Promise<void>;
} {
  const { connectionOptions } = loadClientConnectConfig();
  const { address, namespace } = temporalSettings();
  const connection = Connection.lazy({ ...connectionOptions, address });
  return {
    client: new Client({ connection, namespace }),
    connection,
    close: () => connection.close(),
  };
}

/**
 * A worker's connection. The SDK gives up after its first failure, so this waits for a server that
 * is not up yet.
 * @throws WaybillError `temporal_unreachable` after `patienceMs`
 */
export async function workerConnection(
  patienceMs: number,
  onWait: (error: unknown) => void,
): Promise<NativeConnection> {
  const { connectionOptions } = loadClientConnectConfig();
  const { address } = temporalSettings();
  const started = performance.now();
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await NativeConnection.connect({ ...connectionOptions, address });
    } catch (error) {
      if (performance.now() - started > patienceMs) {
        throw new WaybillError(
          'temporal_unreachable',
          `no Temporal server at ${address}; see TEMPORAL_ADDRESS`,
          { cause: error },
        );
      }
      onWait(error);
      await delay(backoffMs(attempt, 200, 5_000));
    }
  }
}
