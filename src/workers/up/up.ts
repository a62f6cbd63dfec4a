/**
 * `waybill up`: everything on one machine. Servers that the environment names are used, the others
 * are embedded; Waybill's own processes are the real ones. One that ends unexpectedly ends all:
 * nothing is restarted behind the user's back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { migrate } from '../../db/migrations';
import type { Config } from '../../schemas/config';
import { parseConfig } from '../../schemas/config';
import type { Fleet } from '../../schemas/fleet';
import { FleetInvalid } from '../../schemas/fleet/mistakes';
import { acquireInstanceLock } from '../embedded/instance-lock';
import { requireFreePort } from '../embedded/ports';
import { identityOf } from '../embedded/process-identity';
import { endLeftOver } from '../embedded/process-record';
import type { TemporalServer } from '../embedded/temporal-server';
import { processEnvironment, type ServerAddresses } from './environment';
import { exampleSecrets, type ExampleSecrets } from './example-secrets';
import { publishUpFleet, readUpFleet, tenantsOf } from './fleet';
import { portWish, recordFile, startProcess } from './processes';
import { removeRunFile, writeRunFile, type RunFile } from './run-file';
import { RunningServers, STOP_ORDER } from './running-servers';
import { upPostgres, upTemporal } from './servers';
import { upSettings, type PortName, type UpSettings } from './settings';
import type { RunSteps, Step } from './steps';

export interface UpOptions {
  readonly environment: NodeJS.ProcessEnv;
  readonly fleetFile: string;
  readonly runSteps: RunSteps;
  /** Ends the start early; what was started is stopped. */
  readonly signal: AbortSignal;
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
  /** Rejects when something that was started ends unexpectedly. */
  readonly lost: Promise<never>;
  /** Writes `run.json` again, after processes were started anew. */
  describe(): void;
  /** Ends everything that was started, in order. */
  stop(): Promise<void>;
}

/** What is still starting when the start fails gets this long, so that it can be stopped in order. */
const PENDING_PATIENCE_MS = 15_000;

/**
 * Brings everything up; resolves when every process is ready.
 * @throws WaybillError, after everything was stopped again: `instance_running`, `port_in_use`,
 *   `temporal_cli_unavailable`, `server_start_failed`, and those of migrations and fleet
 */
export async function bringUp(options: UpOptions): Promise<RunningUp> {
  const settings = await upSettings(options.environment);
  const lock = await acquireInstanceLock(settings.home);
  const launch = new Launch(options, settings);
  try {
    return await launch.run(() => {
      lock.release();
    });
  } catch (error) {
    await launch.end();
    lock.release();
    throw error;
  }
}

class Launch {
  readonly #options: UpOptions;
  readonly #settings: UpSettings;
  readonly #servers: RunningServers;
  readonly #pending = new Set<Promise<void>>();
  readonly #startedAt = new Date().toISOString();
  #temporal: TemporalServer | null = null;

  constructor(options: UpOptions, settings: UpSettings) {
    this.#options = options;
    this.#settings = settings;
    this.#servers = new RunningServers(settings.home);
  }

  async run(release: () => void): Promise<RunningUp> {
    const { home, ports } = this.#settings;
    const receiver = `http://127.0.0.1:${ports.receiver}`;
    const fleet = await readUpFleet(this.#options.fleetFile, receiver);
    if (fleet.mistakes.length > 0) throw new FleetInvalid(fleet.mistakes);
    for (const name of STOP_ORDER) await endLeftOver(recordFile(home, name));
    await this.#requirePorts();
    const servers = await this.#startServers();
    const secrets = exampleSecrets(home, this.#options.environment);
    const environment = processEnvironment(
      this.#options.environment,
      this.#settings,
      servers,
      secrets,
    );
    const config = parseConfig(environment);
    await this.#publish(config, servers, fleet);
    await this.#startProcesses(environment);
    const running: RunningUp = {
      ...{ settings: this.#settings, fleet, secrets, environment, config },
      addresses: {
        api: this.#localUrl('api'),
        health: this.#localUrl('health'),
        receiver,
        temporal: servers.temporal,
        temporalUi: config.http.temporalUi,
      },
      tenants: tenantsOf(fleet),
      temporal: this.#temporal,
      lost: this.#servers.lost,
      describe: () => {
        writeRunFile(home, this.#runFile(running));
      },
      stop: async () => {
        await this.end();
        release();
      },
    };
    running.describe();
    return running;
  }

  /** Stops what runs, and what is about to. */
  async end(): Promise<void> {
    await Promise.race([
      Promise.allSettled(this.#pending),
      delay(PENDING_PATIENCE_MS, undefined, { ref: false }),
    ]);
    removeRunFile(this.#settings.home);
    await this.#servers.stop();
  }

  async #requirePorts(): Promise<void> {
    const names: PortName[] = ['api', 'health', 'receiver'];
    if (this.#settings.databaseUrl === null) names.push('postgres');
    if (this.#settings.temporalAddress === null) names.push('temporal', 'temporalUi');
    for (const name of names) await requireFreePort(portWish(name, this.#settings.ports[name]));
  }

  async #startServers(): Promise<ServerAddresses> {
    const { databaseUrl, temporalAddress } = this.#settings;
    const { environment } = this.#options;
    const found = {
      databaseUrl: databaseUrl ?? '',
      temporal: temporalAddress ?? '',
      temporalUi: environment['WAYBILL_TEMPORAL_UI'] ? environment['WAYBILL_TEMPORAL_UI'] : null,
    };
    const steps: Step[] = [];
    if (databaseUrl === null) {
      const work: Step['work'] = async (note) => {
        const postgres = await upPostgres(this.#settings, note);
        this.#servers.add('postgres', postgres);
        found.databaseUrl = postgres.url;
      };
      steps.push({ title: 'Postgres', work });
    }
    if (temporalAddress === null) {
      const work: Step['work'] = async (note) => {
        const temporal = await upTemporal(this.#settings, environment, note);
        this.#servers.add('temporal', temporal);
        this.#temporal = temporal;
        found.temporal = temporal.address;
        found.temporalUi = temporal.uiUrl;
      };
      steps.push({ title: 'Temporal server', work });
    }
    await this.#together(steps);
    return found;
  }

  async #publish(config: Config, servers: ServerAddresses, fleet: Fleet): Promise<void> {
    await this.#together([
      {
        title: 'Database schema',
        work: async (note) => {
          const applied = await migrate(servers.databaseUrl);
          note(applied.length === 0 ? 'up to date' : `${applied.length} migrations applied`);
        },
      },
    ]);
    await this.#together([
      {
        title: 'Fleet',
        work: async (note) => {
          const log = pino({ level: 'silent' });
          const { changed, revision } = await publishUpFleet(config, fleet, log);
          note(changed ? `published as revision ${revision}` : `revision ${revision}, unchanged`);
        },
      },
    ]);
  }

  async #startProcesses(env: Readonly<Record<string, string>>): Promise<void> {
    const { home, ports } = this.#settings;
    const process = (name: 'receiver' | 'api' | 'worker', args: readonly string[]): Step => {
      const portName = name === 'worker' ? 'health' : name;
      return {
        title: `waybill ${args[0] ?? name}`,
        work: async (note) => {
          const server = await startProcess(
            {
              ...{ name, args, env, home },
              port: { name: portName, number: ports[portName] },
              readyUrl: `${this.#localUrl(portName)}/ready`,
            },
            note,
          );
          this.#servers.add(name, server);
        },
      };
    };
    await this.#together([
      process('receiver', ['demo-receiver', '--port', String(ports.receiver)]),
      process('api', ['api']),
      process('worker', ['worker']),
    ]);
  }

  /** Runs steps at once, unless somebody asks for the end, or something that runs is lost. */
  async #together(steps: readonly Step[]): Promise<void> {
    if (steps.length === 0) return;
    const { runSteps, signal } = this.#options;
    signal.throwIfAborted();
    const tracked = steps.map(({ title, work }) => ({
      title,
      work: (note: (line: string) => void) => {
        const pending = work(note);
        this.#pending.add(pending);
        return pending.finally(() => this.#pending.delete(pending));
      },
    }));
    await Promise.race([runSteps(tracked), rejectedWhenAborted(signal), this.#servers.lost]);
  }

  /** As we reach it: a server that listens everywhere listens here, too. */
  #localUrl(name: 'api' | 'health' | 'receiver'): string {
    return `http://127.0.0.1:${this.#settings.ports[name]}`;
  }

  #runFile({ addresses, environment, tenants }: RunningUp): RunFile {
    return {
      pid: process.pid,
      identity: identityOf(process.pid),
      startedAt: this.#startedAt,
      addresses,
      databaseUrl: environment['DATABASE_URL'] ?? '',
      namespace: environment['TEMPORAL_NAMESPACE'] ?? 'default',
      tenants: [...tenants],
      pids: this.#servers.pids(),
    };
  }
}

function rejectedWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(new Error('interrupted'));
      },
      { once: true },
    );
  });
}
