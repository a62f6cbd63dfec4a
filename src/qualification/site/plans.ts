/** How each process of the deployment is called, and what it alone is told. */
import path from 'node:path';
import { serverEnvironment } from '../../workers/embedded/state-folder';
import type { EdgeSettings } from '../edge/settings';
import { ROOT } from '../evidence/origin';
import type { DatabaseUrls } from './databases';
import { TOKEN_AUDIENCE, TOKEN_ISSUER, type SiteKeys } from './keys';
import type { ProcessPlan } from './site-process';
import type { Workspace } from './workspace';
import {
  CREDENTIAL,
  GATEWAYS,
  HOSTS,
  VERSION,
  WORKERS,
  type GatewayName,
  type HostMember,
  type WaybillName,
} from './topology';

export type Ports = Readonly<
  Record<WaybillName | 'link' | 'postgres' | 'temporal' | 'temporal-ui', number>
>;

export interface Ground {
  readonly workspace: Workspace;
  readonly keys: SiteKeys;
  readonly ports: Ports;
  readonly databases: DatabaseUrls;
  readonly temporalAddress: string;
  /** Where gateways find the keys of the client's tokens. */
  readonly tokenKeysUrl: string;
}

export const PROGRAM = path.join(ROOT, 'bin', 'waybill.js');
const EDGE = path.join(__dirname, '..', 'edge', 'main.js');
const HEARTBEAT = '1s';
/** After that a missing effect is proof that there is none. */
const PROVIDER_TIMEOUT = '4s';

type Env = Readonly<Record<string, string>>;

export function localUrl(ports: Ports, name: WaybillName): string {
  return `http://127.0.0.1:${ports[name]}`;
}

/** What any process of ours gets, and nothing of this one's environment. */
export function plainEnvironment(workspace: Workspace, name: string): Record<string, string> {
  return {
    ...serverEnvironment(process.env),
    WAYBILL_HOME: workspace.folder(`${name}/home`),
    WAYBILL_SECRETS_DIR: workspace.folder(`${name}/secrets`),
    WAYBILL_POOL_SIZE: '4',
    WAYBILL_SHUTDOWN_GRACE: '5s',
  };
}

export function edgePlan({ workspace, keys, ports }: Ground): ProcessPlan {
  const settings: EdgeSettings = {
    port: ports.edge,
    keyFile: workspace.secret('edge', 'edge.key', keys.certificate.key),
    certFile: workspace.secret('edge', 'edge.crt', keys.certificate.cert),
    gateways: GATEWAYS.map((name) => ({ name, url: localUrl(ports, name) })),
  };
  return {
    name: 'edge',
    args: [EDGE],
    env: { ...serverEnvironment(process.env), EDGE_SETTINGS: JSON.stringify(settings) },
    readyUrl: `https://127.0.0.1:${ports.edge}/ready`,
    certificate: keys.certificate.cert,
  };
}

export function gatewayPlan(ground: Ground, name: GatewayName): ProcessPlan {
  const { ports, databases, tokenKeysUrl } = ground;
  writeFleetSecrets(ground, name);
  return waybill(ground, name, ['api', '--serve', 'api,ingress'], {
    ...signing(ground, name),
    WAYBILL_DATA_DATABASE_URL: databases.login(name),
    WAYBILL_TOKEN_JWKS_URL: tokenKeysUrl,
    WAYBILL_TOKEN_ISSUER: TOKEN_ISSUER,
    WAYBILL_TOKEN_AUDIENCE: TOKEN_AUDIENCE,
    WAYBILL_PORT: String(ports[name]),
    WAYBILL_PUBLIC_URL: `https://127.0.0.1:${ports.edge}`,
    ...temporal(ground),
  });
}

export function lifecyclePlan(ground: Ground): ProcessPlan {
  return waybill(ground, 'lifecycle', ['api', '--serve', 'lifecycle'], {
    ...signing(ground, 'lifecycle'),
    WAYBILL_LIFECYCLE_DATABASE_URL: ground.databases.login('lifecycle'),
    WAYBILL_PORT: String(ground.ports.lifecycle),
  });
}

export function workerPlan(ground: Ground, name: (typeof WORKERS)[number]): ProcessPlan {
  writeFleetSecrets(ground, name);
  return waybill(ground, name, ['worker'], {
    ...signing(ground, name),
    WAYBILL_DATA_DATABASE_URL: ground.databases.login(name),
    WAYBILL_OPERATIONS_DATABASE_URL: ground.databases.login(`${name}-operations`),
    WAYBILL_HEALTH_PORT: String(ground.ports[name]),
    WAYBILL_HEARTBEAT_TIMEOUT: '5s',
    WAYBILL_HELD_POLL: '1s',
    ...temporal(ground),
  });
}

export function providerPlan(ground: Ground): ProcessPlan {
  const { ports, keys, databases } = ground;
  const accounts = Object.entries(keys.providerTokens);
  const args = [
    ...['demo-provider', '--port', String(ports.provider)],
    ...['--database', 'env:PROVIDER_DATABASE_URL'],
    ...accounts.flatMap(([account, token]) => ['--token', `${account}=${token}`]),
  ];
  return waybill(ground, 'provider', args, { PROVIDER_DATABASE_URL: databases.provider });
}

/** Where deliveries go: not a part of Waybill; what it records is the outside view. */
export function targetPlan(ground: Ground): ProcessPlan {
  const args = ['demo-receiver', '--port', String(ground.ports.target)];
  const env = { WAYBILL_EXAMPLE_TARGET_SECRET: ground.keys.targetSecret };
  return waybill(ground, 'target', args, env);
}

/** The secrets that the fleet file refers to, for a process that uses them or publishes it. */
export function writeFleetSecrets({ workspace, keys }: Ground, name: string): void {
  workspace.secret(`${name}/secrets`, 'vendor', keys.vendorSecret);
  workspace.secret(`${name}/secrets`, 'target', keys.targetSecret);
}

export function hostPlan(ground: Ground, host: HostMember): ProcessPlan {
  const { workspace, keys, ports } = ground;
  workspace.secret(`${host.name}/secrets`, 'host.jwk', keys.hosts[host.name].text);
  workspace.secret(`${host.name}/secrets`, 'provider', keys.providerTokens[host.instance] ?? '');
  const options = {
    replica: host.replica,
    tenant: host.tenant,
    connector: host.connector,
    'connector-version': VERSION,
    instance: host.instance,
    credentials: CREDENTIAL,
    key: 'file:host.jwk',
    store: hostStoreFile(workspace, host),
    lifecycle: localUrl(ports, 'lifecycle'),
    heartbeat: HEARTBEAT,
    provider: localUrl(ports, 'provider'),
    'provider-token': 'file:provider',
    listen: `127.0.0.1:${ports[host.name]}`,
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return waybill(ground, host.name, ['host', ...args], {
    WAYBILL_HOST_PROVIDER_TIMEOUT: PROVIDER_TIMEOUT,
  });
}

export function hostStoreFile(workspace: Workspace, { name }: HostMember): string {
  return path.join(workspace.folder(`${name}/store`), 'actions.sqlite');
}

export function allPlans(ground: Ground): readonly (readonly ProcessPlan[])[] {
  return [
    [lifecyclePlan(ground), providerPlan(ground), targetPlan(ground)],
    GATEWAYS.map((name) => gatewayPlan(ground, name)),
    [...WORKERS.map((name) => workerPlan(ground, name)), edgePlan(ground)],
    HOSTS.map((host) => hostPlan(ground, host)),
  ];
}

/** Receipts and route tokens: one key of the deployment, a copy of it with each that needs it. */
function signing({ workspace, keys }: Ground, name: string): Env {
  workspace.secret(`${name}/secrets`, 'signing.jwk', keys.deployment.text);
  return { WAYBILL_SIGNING_KEY: 'file:signing.jwk' };
}

function temporal({ temporalAddress, workspace }: Ground): Env {
  return {
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: 'default',
    // A user's configuration file is for other servers: one that is not there counts as none.
    TEMPORAL_CONFIG_FILE: path.join(workspace.path, 'no-temporal-configuration.toml'),
  };
}

function waybill(
  { workspace, ports }: Ground,
  name: WaybillName,
  args: readonly string[],
  env: Env,
): ProcessPlan {
  return {
    name,
    args: [PROGRAM, ...args],
    env: { ...plainEnvironment(workspace, name), ...env },
    readyUrl: `${localUrl(ports, name)}/ready`,
  };
}
