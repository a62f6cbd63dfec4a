/**
 * The null host, a process of its own: a real host of the kit with its embedded store, registered
 * with the lifecycle service, whose capability does nothing.
 */
import { readFileSync } from 'node:fs';
import { createHost } from '../../src/hosts/kit/host';
import { sqliteStore } from '../../src/hosts/kit/stores/sqlite';
import { importSigningKey } from '../../src/signing/keys';
import { endOfBenchmark, setting } from '../floors/settings';
import { NULL_HOST, nullCapabilities } from './nothing';

/** The first one makes it ready; the usual ten seconds would only be waited for. */
const HEARTBEAT_MS = 2_000;

async function run(): Promise<void> {
  const host = await createHost({
    identity: NULL_HOST,
    key: await importSigningKey(readFileSync(setting('HOST_KEY_FILE'), 'utf8')),
    store: sqliteStore(setting('HOST_STORE_FILE')),
    capabilities: nullCapabilities((action) => process.send?.(action)),
    registration: { url: setting('HOST_LIFECYCLE_URL'), heartbeatMs: HEARTBEAT_MS },
    listen: { host: '127.0.0.1', port: Number(setting('HOST_PORT')) },
    failed: (error) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    },
  });
  await endOfBenchmark();
  await host.stop();
}

void run().then(() => process.exit(0));
