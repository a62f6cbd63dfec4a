/** The deployment of a run: everything that it starts, and nothing that was there before. */
import path from 'node:path';
import type { SecretValues } from '../evidence/secret-values';
import type { FleetChange } from '../faults';
import { mustSucceed, waybillCommand, type Finished } from './commands';
import { createDatabases, createLogins, databaseUrls, fillDisk } from './databases';
import { changeText, fleetText, type FleetPlan } from './fleet';
import { makeKeys, type SiteKeys } from './keys';
import { HostLink } from './link';
import {
  allPlans,
  localUrl,
  plainEnvironment,
  writeFleetSecrets,
  type Ground,
  type Ports,
} from './plans';
import { startServers, type Servers } from './servers';
import { NodeSiteProcess, type NoteEvent, type SiteProcess } from './site-process';
import { serveTokenKeys, type TokenKeysServer } from './token-keys';
import { HOSTS, INSTANCES, type ProcessName, type WaybillName } from './topology';
import { HeldPorts } from './ports';
import { createWorkspace } from './workspace';

export interface SiteOptions {
  readonly secrets: SecretValues;
  readonly note: NoteEvent;
  readonly tell: (line: string) => void;
  /** Of what hosts run. */
  readonly artifactDigest: string;
}

/** In the order of an orderly end, those of one row at once; the stores come last. */
const STOP_ORDER: readonly (readonly ProcessName[])[] = [
  ['edge'],
  HOSTS.map(({ name }) => name),
  ['gateway-1', 'gateway-2', 'lifecycle'],
  ['worker-1', 'worker-2'],
  ['provider', 'target'],
  ['temporal'],
  ['postgres'],
];

/** Its endpoint in the catalog is the link's. */
const LINKED_HOST = 'host-globex-tickets-1';

/** Of the run's own process. */
interface SiteParts {
  readonly tokenKeys: TokenKeysServer;
  readonly link: HostLink;
  readonly held: HeldPorts;
}

export class Site {
  readonly ground: Ground;
  readonly #fleet: FleetPlan;
  readonly #processes = new Map<ProcessName, SiteProcess>();
  /** Between workers and the host of one instance. */
  readonly link: HostLink;
  readonly #tokenKeys: TokenKeysServer;
  readonly #held: HeldPorts;
  readonly #serverUrl: string;
  #publications = 0;
  #ends = false;

  private constructor(ground: Ground, fleet: FleetPlan, own: SiteParts, serverUrl: string) {
    this.#serverUrl = serverUrl;
    this.ground = ground;
    this.#fleet = fleet;
    this.#tokenKeys = own.tokenKeys;
    this.link = own.link;
    this.#held = own.held;
  }

  /** Starts its servers, which are empty. */
  static async prepare(options: SiteOptions): Promise<Site> {
    const workspace = createWorkspace();
    const accounts = INSTANCES.map(({ instance }) => instance);
    const keys = await makeKeys(accounts, options.secrets);
    const held = await HeldPorts.take();
    const { ports } = held;
    const tokenKeys = await serveTokenKeys(keys.clientKeys);
    let servers: Servers | undefined;
    try {
      servers = await startServers({ workspace, held, ...options });
    } catch (error) {
      await Promise.all([tokenKeys.close(), held.releaseAll()]);
      workspace.remove();
      throw error;
    }
    const ground: Ground = {
      ...{ workspace, keys, ports, tokenKeysUrl: tokenKeys.url },
      databases: databaseUrls(servers.databaseUrl, keys),
      temporalAddress: servers.temporalAddress,
    };
    const { artifactDigest } = options;
    const fleet: FleetPlan = {
      ...{ keys, artifactDigest, targetUrl: localUrl(ports, 'target') },
      endpoint: (host) => `http://127.0.0.1:${ports[host === LINKED_HOST ? 'link' : host]}`,
    };
    await held.release('link');
    const link = await HostLink.start(ports.link, {
      host: localUrl(ports, LINKED_HOST),
      foreign: keys.foreign.key,
    });
    const site = new Site(ground, fleet, { tokenKeys, link, held }, servers.databaseUrl);
    for (const one of servers.processes) site.#processes.set(one.name, one);
    return site;
  }

  get keys(): SiteKeys {
    return this.ground.keys;
  }

  get ports(): Ports {
    return this.ground.ports;
  }

  get processes(): readonly SiteProcess[] {
    return [...this.#processes.values()];
  }

  process(name: ProcessName): SiteProcess {
    const found = this.#processes.get(name);
    if (found === undefined) throw new Error(`there is no process ${name}`);
    return found;
  }

  node(name: WaybillName): NodeSiteProcess {
    const found = this.process(name);
    if (!(found instanceof NodeSiteProcess)) throw new Error(`${name} is no process of Node`);
    return found;
  }

  /** Publishes a change with the control login, as one publication. */
  async publish(change: FleetChange): Promise<void> {
    await this.#apply(await changeText(this.#fleet, change), change);
  }

  /** Whether Postgres has room for deliveries. */
  async disk(full: boolean): Promise<void> {
    await fillDisk(this.ground.databases.migrator, full);
  }

  /** A command with this environment alone; it runs where nothing of ours lies. */
  async command(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Finished> {
    return await waybillCommand(args, env, this.ground.workspace.folder('commands'));
  }

  /** Ends everything in order and removes all that is not evidence; may be called again. */
  async stop(): Promise<void> {
    // Whatever is still under way may not begin anything behind this.
    this.#ends = true;
    for (const one of this.#processes.values()) one.close();
    for (const names of STOP_ORDER) {
      await Promise.all(names.map(async (name) => this.#processes.get(name)?.stop()));
    }
    await Promise.all([this.#tokenKeys.close(), this.link.close(), this.#held.releaseAll()]);
  }

  /** Afterwards nothing of the run is left but its evidence. */
  remove(): void {
    this.ground.workspace.remove();
  }

  /** Fills them, and starts everything else; resolves when every process is ready. */
  async bringUp({ tell, note }: SiteOptions): Promise<void> {
    const { ground } = this;
    const serverUrl = this.#serverUrl;
    tell('databases, roles and schema');
    await createDatabases(serverUrl, ground.keys);
    const migrating = { DATABASE_URL: ground.databases.migrator };
    const plain = plainEnvironment(ground.workspace, 'control');
    await mustSucceed(this.command(['migrate'], { ...plain, ...migrating }), 'waybill migrate');
    await createLogins(serverUrl, ground.keys);
    tell('the fleet');
    writeFleetSecrets(ground, 'control');
    await this.#apply(await fleetText(this.#fleet), 'fleet');
    for (const plans of allPlans(ground)) {
      if (this.#ends) throw new Error('the run ends');
      tell(plans.map(({ name }) => name).join(', '));
      const made = plans.map((plan) => new NodeSiteProcess(plan, ground.workspace, note));
      for (const one of made) this.#processes.set(one.name, one);
      await this.#held.release(...plans.map(({ name }) => name));
      await Promise.all(made.map((one) => one.start()));
    }
  }

  async #apply(text: string, name: string): Promise<void> {
    const { workspace, databases } = this.ground;
    this.#publications += 1;
    const file = workspace.secret('control', `${this.#publications}-${name}.yaml`, text);
    const env = {
      ...plainEnvironment(workspace, 'control'),
      WAYBILL_CONTROL_DATABASE_URL: databases.login('control'),
    };
    await mustSucceed(this.command(['apply', '-f', path.resolve(file)], env), `publishing ${name}`);
  }
}
