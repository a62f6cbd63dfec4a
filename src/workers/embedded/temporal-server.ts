import { join } from 'node:path';
import { embeddedServer, type EmbeddedServer } from './embedded-server';
import type { GuardSpec } from './guard-protocol';
import { requireFreePort } from './ports';
import { serverEnvironment } from './state-folder';
import type { SearchAttributeTypes } from '../../temporal/search-attributes';
import { isServing } from './temporal-readiness';

export interface TemporalOptions {
  /** The CLI's executable. */
  readonly executable: string;
  /** Logs and records lie below it. */
  readonly stateFolder: string;
  /** gRPC, on loopback. */
  readonly port: number;
  /** The web UI, on loopback. */
  readonly uiPort: number;
  /** What a user changes to get other ports, for the message when one is taken. */
  readonly portSettings?: { readonly port: string; readonly uiPort: string };
  /** Keeps everything across restarts; without it the server forgets, and is faster. */
  readonly databaseFile?: string;
  readonly namespace?: string;
  readonly searchAttributes: SearchAttributeTypes;
  /** Settings of the server by name, as JSON texts, beside those that Waybill needs. */
  readonly dynamicConfig?: Readonly<Record<string, string>>;
  readonly log?: (line: string) => void;
}

export interface TemporalServer extends EmbeddedServer {
  /** `host:port` for clients. */
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl: string;
}

/** An old database file is migrated first. */
const READY_TIMEOUT_MS = 60_000;
/** It drains its own workers for a second. */
const STOP_TIMEOUT_MS = 10_000;

/**
 * Starts a Temporal dev server on loopback and resolves when its namespace answers and has the
 * search attributes. Errors: `port_in_use`, `server_start_failed` (with the last lines of its log).
 */
export async function startTemporal(options: TemporalOptions): Promise<TemporalServer> {
  const namespace = options.namespace ?? 'default';
  const address = `127.0.0.1:${options.port}`;
  const server = embeddedServer({
    title: 'The Temporal server',
    prepare: async () => {
      const { port, uiPort, portSettings } = options;
      const setting = portSettings?.port ?? 'the port of the embedded Temporal server';
      const uiSetting = portSettings?.uiPort ?? 'the port of its UI';
      await requireFreePort({ port, wantedBy: 'the Temporal server', setting });
      await requireFreePort({ port: uiPort, wantedBy: 'the Temporal UI', setting: uiSetting });
    },
    spec: () => temporalSpec(options, namespace),
    isReady: () => isServing(address, namespace, options.searchAttributes),
    readyTimeoutMs: READY_TIMEOUT_MS,
    log: options.log ?? (() => undefined),
  });
  await server.start();
  const uiUrl = `http://127.0.0.1:${options.uiPort}`;
  // Not a spread: that would read the getter `pid` once and for all.
  return Object.assign(server, { address, namespace, uiUrl });
}

function temporalSpec(options: TemporalOptions, namespace: string): GuardSpec {
  const attributes = Object.entries(options.searchAttributes);
  const file = options.databaseFile;
  const settings = {
    'matching.enableFairness': 'true',
    'frontend.enableCancelWorkerPollsOnShutdown': 'true',
    ...options.dynamicConfig,
  };
  return {
    name: 'temporal',
    command: options.executable,
    args: [
      ...['server', 'start-dev', '--ip', '127.0.0.1', '--headless=false', '--log-level', 'warn'],
      ...['--port', String(options.port), '--ui-port', String(options.uiPort)],
      ...['--namespace', namespace],
      ...(file === undefined ? [] : ['--db-filename', file]),
      ...Object.entries(settings).flatMap((one) => ['--dynamic-config-value', one.join('=')]),
      ...attributes.flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
    ],
    env: serverEnvironment(process.env),
    cwd: '/',
    logFile: join(options.stateFolder, 'logs', 'temporal.log'),
    recordFile: join(options.stateFolder, 'run', 'temporal.json'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  };
}
