/** A connector as a process: from its variables to an orderly end. */
import { WaybillError } from '../../domain/errors';
import { importSigningKey } from '../../signing/keys';
import type { Capability } from './connector';
import { createHost, type Host } from './host';
import { manifestOf } from './manifest';
import { hostSettings } from './settings';
import { sqliteStore } from './stores/sqlite';

export interface Connector {
  readonly connectorId: string;
  readonly version: string;
  readonly capabilities: Readonly<Record<string, Capability>>;
}

/**
 * Runs the connector as one replica until SIGTERM or SIGINT; then it drains, waits for what is open and
 * says that it is offline. It prints one line of JSON once it serves (`url`, `did`, `manifestDigest`,
 * `storeEpoch`) and trouble as lines of JSON on standard error. With the argument `--manifest` it prints
 * the manifest, byte by byte as it serves it, and ends. Never rejects: what it cannot start with is told
 * in one line and by the exit code 1.
 */
export async function runConnector(connector: Connector): Promise<void> {
  try {
    if (process.argv.includes('--manifest')) {
      process.stdout.write(manifestOf(connector, connector.capabilities).text);
      return;
    }
    await serve(connector);
  } catch (error) {
    trouble(error);
    process.exitCode = 1;
  }
}

async function serve(connector: Connector): Promise<void> {
  const settings = hostSettings(process.env);
  const host = await started(connector, settings);
  const { url, did, manifestDigest, storeEpoch } = host;
  process.stdout.write(`${JSON.stringify({ url, did, manifestDigest, storeEpoch })}\n`);
  const stopped = new Promise<unknown>((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
    host.superseded.addEventListener('abort', () => {
      process.exitCode = 1;
      resolve(null);
    });
  });
  await stopped;
  await (host.superseded.aborted ? host.stop() : host.retire(settings.retireMs));
}

async function started(
  { connectorId, version, capabilities }: Connector,
  settings: ReturnType<typeof hostSettings>,
): Promise<Host> {
  const { identity, keyText, storeFile, registration, listen } = settings;
  const key = await importSigningKey(keyText).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : 'unreadable';
    throw new WaybillError('config_invalid', `WAYBILL_HOST_KEY: ${reason}`, { cause: error });
  });
  const store = sqliteStore(storeFile);
  try {
    return await createHost({
      identity: { ...identity, connectorId, version },
      ...{ key, store, capabilities, registration, listen, failed: trouble },
    });
  } catch (error) {
    await store.close();
    throw error;
  }
}

function trouble(error: unknown): void {
  const code = error instanceof WaybillError ? { code: error.code } : {};
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`${JSON.stringify({ level: 'error', ...code, message })}\n`);
}
