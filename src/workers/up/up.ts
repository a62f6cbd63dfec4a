/**
 * `waybill up`: everything on one machine. Servers that the environment names are used, the others
 * are embedded; Waybill's own processes are the real ones. One that ends unexpectedly ends all:
 * nothing is restarted behind the user's back.
 */
import type { Config } from '../../schemas/config';
import { parseConfig } from '../../schemas/config';
import type { Fleet } from '../../schemas/fleet';
import { FleetInvalid } from '../../schemas/fleet/mistakes';
import type { EmbeddedServer } from '../embedded/embedded-server';
import { acquireInstanceLock } from '../embedded/instance-lock';
import { requireFreePort } from '../embedded/ports';
import { identityOf } from '../embedded/process-identity';
import { endLeftOver } from '../embedded/process-record';
import type { TemporalServer } from '../embedded/temporal-server';
import { coreDefinitions, hostDefinition, providerDefinition } from './definitions';
import { withDemoHosts, type DemoHost } from './demo-hosts';
import { processEnvironment } from './environment';
import { exampleSecrets, type ExampleSecrets } from './example-secrets';
import { publish, readUpFleet, tenantsOf } from './fleet';
import { Launch, type LaunchOptions } from './launch';
import { startProcesses } from './processes';
import { writeRunFile, type RunFile } from './run-file';
import { SERVER_NAMES } from './running-servers';
import { startServers } from './servers';
import { localUrl, portWish, upSettings, type PortName, type UpSettings } from './settings';
import { recordFile } from './state-files';

export interface UpOptions extends LaunchOptions {
  readonly fleetFile: string;
}

export interface RunningUp {
  readonly settings: UpSettings;
  readonly addresses: RunFile['addresses'];
  readonly tenants: readonly string[];
  readonly fleet: Fleet;
  readonly secrets: ExampleSecrets;
  /** Of the processes under it; with it, a process of ours reaches the same servers. */
  readonly environment: Readonly<Record<string, string>>;
  /** The settings that these processes run with. */
  readonly config: Config;
  /** Null when the environment named a running one. */
  readonly temporal: TemporalServer | null;
  /** The demo hosts, by replica; none where the fleet has no replica for them. */
  readonly hosts: ReadonlyMap<string, EmbeddedServer>;
  /** Rejects when something that was started ends unexpectedly. */
  readonly lost: Promise<never>;
  /** Writes `run.json` again, after processes were started anew. */
  describe(): void;
  /** Ends everything that was started, in order. */
  stop(): Promise<void>;
}

/**
 * Brings everything up; resolves when every process is ready.
 * @throws WaybillError, after everything was stopped again: `instance_running`, `port_in_use`,
 *   `temporal_cli_unavailable`, `temporal_unreachable`, `server_start_failed`, and those of
 *   migrations and fleet
 */
export async function bringUp(options: UpOptions): Promise<RunningUp> {
  const settings = await upSettings(options.environment);
  const lock = await acquireInstanceLock(settings.home);
  const launch = new Launch(options, settings);
  const stop = async () => {
    await launch.end();
    lock.release();
  };
  try {
    return await startAll(launch, options.fleetFile, stop);
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(
  launch: Launch,
  fleetFile: string,
  stop: () => Promise<void>,
): Promise<RunningUp> {
  const { settings, servers } = launch;
  const receiver = localUrl(settings, 'receiver');
  // A mistake or a taken port is told before anything is fetched or started.
  const written = await readUpFleet(fleetFile, receiver);
  if (written.mistakes.length > 0) throw new FleetInvalid(written.mistakes);
  for (const name of SERVER_NAMES) await endLeftOver(recordFile(settings.home, name));
  const { fleet, hosts: demoHosts } = await withDemoHosts(written, settings);
  await requirePorts(settings, demoHosts);
  const { addresses, temporal } = await startServers(launch);
  const secrets = exampleSecrets(settings.home, launch.environment);
  const environment = processEnvironment(launch.environment, settings, addresses, secrets);
  const config = parseConfig(environment);
  await publish(launch, config, fleet);
  const hosts = await startOurs(launch, { demoHosts, secrets, environment });
  const startedAt = new Date().toISOString();
  const running: RunningUp = {
    ...{ settings, fleet, secrets, environment, config, temporal, hosts, stop },
    addresses: {
      api: localUrl(settings, 'api'),
      health: localUrl(settings, 'health'),
      receiver,
      provider: demoHosts.length === 0 ? null : localUrl(settings, 'provider'),
      hosts: Object.fromEntries(demoHosts.map(({ replicaId, url }) => [replicaId, url])),
      temporal: addresses.temporal,
      temporalUi: addresses.temporalUi,
    },
    tenants: tenantsOf(fleet),
    lost: servers.lost,
    describe: () => {
      writeRunFile(settings.home, runFile(running, startedAt, servers.pids()));
    },
  };
  running.describe();
  return running;
}

/** Waybill's own processes; hosts come last, since they register with the API. */
async function startOurs(
  launch: Launch,
  {
    demoHosts,
    secrets,
    environment,
  }: Pick<RunningUp, 'secrets' | 'environment'> & { readonly demoHosts: readonly DemoHost[] },
): Promise<ReadonlyMap<string, EmbeddedServer>> {
  const { settings } = launch;
  const provider = demoHosts.length === 0 ? [] : [providerDefinition(settings, secrets)];
  await startProcesses(launch, [...coreDefinitions(settings), ...provider], environment);
  const definitions = demoHosts.map((host) => hostDefinition(settings, host));
  const started = await startProcesses(launch, definitions, environment);
  return new Map(
    demoHosts.flatMap(({ replicaId }, index) => {
      const server = started[index];
      return server === undefined ? [] : [[replicaId, server]];
    }),
  );
}

async function requirePorts(settings: UpSettings, hosts: readonly DemoHost[]): Promise<void> {
  const names: PortName[] = ['api', 'health', 'grpc', 'receiver'];
  if (hosts.length > 0) names.push('provider', ...hosts.map(({ port }) => port));
  if (settings.databaseUrl === null) names.push('postgres');
  if (settings.temporalAddress === null) names.push('temporal', 'temporalUi');
  for (const name of names) await requireFreePort(portWish(name, settings.ports[name]));
}

function runFile(running: RunningUp, startedAt: string, pids: Record<string, number>): RunFile {
  const { addresses, environment, tenants } = running;
  return {
    pid: process.pid,
    identity: identityOf(process.pid),
    startedAt,
    addresses,
    databaseUrl: environment['DATABASE_URL'] ?? '',
    namespace: environment['TEMPORAL_NAMESPACE'] ?? 'default',
    tenants: [...tenants],
    pids,
  };
}
