/** Waybill as it is deployed, for a benchmark: its own database, a fleet of one, real processes. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Lane } from '../src/domain/lanes';
import { freePort } from '../src/workers/embedded/ports';
import type { Closers } from '../src/workers/closers';
import { createDatabase, type BenchDatabase } from './databases';
import type { Environment } from './environment';
import { runWaybill, startWaybill } from './processes';

/** Connections of every pool, of Waybill and of the floors. */
export const POOL_SIZE = 10;

export const INGRESS_SECRET = 'bench-ingress-secret';
export const TARGET_SECRET = `whsec_${Buffer.from('bench-target-secret-of-32-bytes!').toString('base64')}`;

export interface Deployment {
  /** Of the ingress, signed with GitHub's scheme and `INGRESS_SECRET`. */
  readonly ingressUrl: string;
  /** Likewise, of another tenant. */
  readonly ingressOf: (tenant: string) => string;
  /** Of its API, for the tenant that a token names. */
  readonly api: Api;
  /** Of its worker's health and metrics; null where it has none. */
  readonly workerUrl: string | null;
  readonly database: BenchDatabase;
  readonly taskQueue: string;
}

export interface Api {
  readonly url: string;
  /** What its processes are told: the key in their home folder makes tokens for it. */
  readonly env: Readonly<Record<string, string>>;
}

export interface DeploymentOptions {
  readonly environment: Environment;
  readonly closers: Closers;
  /** Keeps the deployments of one run apart. */
  readonly name: string;
  /** Where deliveries go; without one there is no worker, and nothing is dispatched. */
  readonly targetUrl?: string;
  /** Of its subscriptions; `durable` where this is absent. */
  readonly lane?: Lane;
  /** What the API serves, `ingress` where this is absent. */
  readonly parts?: string;
  /** Further tenants, each with a target of its own. */
  readonly others?: readonly { readonly tenant: string; readonly targetUrl: string }[];
}

/** Where a deployment lives; `env` is what each of its processes is told. */
export interface Groundwork {
  readonly database: BenchDatabase;
  readonly env: Readonly<Record<string, string>>;
  readonly queuePrefix: string;
  readonly logOf: (part: string) => string;
}

export type GroundworkOptions = Pick<DeploymentOptions, 'environment' | 'closers' | 'name'>;

/** A database of its own and what its processes are told; nothing runs yet. */
export async function layGroundwork(options: GroundworkOptions): Promise<Groundwork> {
  const { environment, closers, name } = options;
  const { folder } = environment;
  const database = await createDatabase(environment.databaseUrl);
  closers.add(() => database.drop());
  const queuePrefix = `bench-${name}-`;
  const env = {
    DATABASE_URL: database.url,
    WAYBILL_HOME: path.join(folder, name),
    WAYBILL_POOL_SIZE: String(POOL_SIZE),
    WAYBILL_TASK_QUEUE_PREFIX: queuePrefix,
    WAYBILL_BENCH_INGRESS_SECRET: INGRESS_SECRET,
    WAYBILL_BENCH_TARGET_SECRET: TARGET_SECRET,
  };
  const logOf = (part: string): string => path.join(folder, `${name}-${part}.log`);
  return { database, env, queuePrefix, logOf };
}

/** Migrates and publishes the fleet, a text in YAML or JSON. */
export async function publish({ env, logOf }: Groundwork, fleet: string): Promise<void> {
  const file = logOf('fleet').replace(/log$/, 'yaml');
  writeFileSync(file, fleet);
  await runWaybill(['migrate'], { env, logFile: logOf('migrate') });
  await runWaybill(['apply', '-f', file], { env, logFile: logOf('apply') });
}

/** `waybill api` with these parts, until `closers` ends it. */
export async function startApi(
  { env, logOf }: Groundwork,
  parts: string,
  closers: Closers,
): Promise<{ readonly url: string; readonly pid: number }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const api = await startWaybill(['api', '--serve', parts], {
    env: { ...env, WAYBILL_PORT: String(port) },
    logFile: logOf('api'),
    readyUrl: `${url}/ready`,
  });
  closers.add(() => api.stop());
  return { url, pid: api.pid };
}

/** `waybill worker`, until `closers` ends it. */
export async function startWorker(
  { env, logOf }: Groundwork,
  closers: Closers,
): Promise<{ readonly url: string; readonly pid: number }> {
  const healthPort = await freePort();
  const url = `http://127.0.0.1:${healthPort}`;
  const worker = await startWaybill(['worker'], {
    env: { ...env, WAYBILL_HEALTH_PORT: String(healthPort) },
    logFile: logOf('worker'),
    readyUrl: `${url}/ready`,
  });
  closers.add(() => worker.stop());
  return { url, pid: worker.pid };
}

/** Migrates, publishes and starts; `closers` ends and drops it. */
export async function deploy(options: DeploymentOptions): Promise<Deployment> {
  const { closers, targetUrl } = options;
  const ground = await layGroundwork(options);
  const fleet = [
    ...[
      'kind: Settings\ntargetAddresses: { allow: [127.0.0.0/8] }\nrequiredEvidence: []\n',
      CONNECTOR,
    ],
    tenantText('bench', targetUrl ?? 'http://127.0.0.1:9/', options.lane),
    ...(options.others ?? []).map((other) =>
      tenantText(other.tenant, other.targetUrl, options.lane),
    ),
  ];
  await publish(ground, fleet.join('---\n'));
  const { url } = await startApi(ground, options.parts ?? 'ingress', closers);
  const worker = targetUrl === undefined ? null : await startWorker(ground, closers);
  return {
    ingressUrl: `${url}/webhooks/bench-ingress`,
    ingressOf: (tenant) => `${url}/webhooks/${tenant}-ingress`,
    api: { url, env: ground.env },
    workerUrl: worker?.url ?? null,
    database: ground.database,
    taskQueue: `${ground.queuePrefix}deliveries`,
  };
}

const CONNECTOR = `kind: Connector
id: github
name: GitHub
provider: github
version: 1.0.0
status: active
webhookScheme: github
`;

function tenantText(tenant: string, targetUrl: string, lane: Lane = 'durable'): string {
  return `kind: Instance
tenant: ${tenant}
id: github-bench
connector: github
version: 1.0.0
grants: [source]
---
kind: Target
tenant: ${tenant}
id: target
http:
  url: ${targetUrl}
  timeout: 10s
  secretRefs: [env:WAYBILL_BENCH_TARGET_SECRET]
---
kind: Subscription
tenant: ${tenant}
id: pushes
instance: github-bench
target: target
eventTypes: [push]
lane: ${lane}
ingress:
  ref: ${tenant}-ingress
  secrets:
    - { id: current, ref: env:WAYBILL_BENCH_INGRESS_SECRET }
`;
}
