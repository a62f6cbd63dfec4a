/** Waybill with a null host, and the bare workflow beside it. */
import path from 'node:path';
import { openSqlite } from '../src/hosts/sqlite';
import { manifestOf } from '../src/hosts/kit/manifest';
import { freePort } from '../src/workers/embedded/ports';
import { pollUntil } from '../src/workers/embedded/poll';
import { demoHostKey } from '../src/workers/signing-keys';
import type { MeasuredProcess } from './cpu';
import type { BenchDatabase } from './databases';
import { layGroundwork, publish, startApi, startWorker } from './deployment';
import type { GroundworkOptions } from './deployment';
import { NOTHING, NOTHING_CONTRACT, NULL_HOST, nullCapabilities } from './hosts/nothing';
import { startScript } from './processes';
import { Sightings } from './sightings';

/** More than are ever under way: what is measured is the path, not the waiting for room. */
const ROOM = 1_000;
const READY_PATIENCE_MS = 30_000;

export interface NullHost {
  /** Every action that it was told to do. */
  readonly done: Sightings;
  /** Ends it, and counts what its store says is finished. */
  finished(): Promise<number>;
}

export interface ActionDeployment {
  /** Of the API. */
  readonly url: string;
  /** The home folder, whose key makes tokens for the API. */
  readonly env: Readonly<Record<string, string>>;
  readonly database: BenchDatabase;
  readonly taskQueue: string;
  readonly host: NullHost;
  readonly processes: readonly MeasuredProcess[];
}

/** Migrates, publishes and starts; resolves when its host is ready. `closers` ends and drops it. */
export async function deployActions(options: GroundworkOptions): Promise<ActionDeployment> {
  const { closers } = options;
  const ground = await layGroundwork(options);
  const { database, env, logOf, queuePrefix } = ground;
  const key = await demoHostKey(env['WAYBILL_HOME'] ?? '', 'null-host');
  const port = await freePort();
  await publish(ground, fleetText({ did: key.did, port }));
  const api = await startApi(ground, 'api,lifecycle', closers);
  const done = new Sightings('the null host');
  const storeFile = logOf('host').replace(/log$/, 'sqlite');
  const host = await startScript('hosts/null', {
    env: {
      HOST_KEY_FILE: key.file,
      HOST_STORE_FILE: storeFile,
      HOST_LIFECYCLE_URL: api.url,
      HOST_PORT: String(port),
    },
    logFile: logOf('host'),
    readyUrl: `http://127.0.0.1:${port}/ready`,
    onMessage: (action) => {
      done.note(String(action));
    },
  });
  closers.add(() => host.stop());
  const worker = await startWorker(ground, closers);
  await untilReady(database);
  return {
    url: api.url,
    ...{ env, database },
    taskQueue: `${queuePrefix}actions`,
    host: {
      done,
      finished: async () => {
        await host.stop();
        return finishedIn(storeFile);
      },
    },
    processes: [
      { name: 'api', pid: api.pid },
      { name: 'worker', pid: worker.pid },
      { name: 'host', pid: host.pid },
    ],
  };
}

export interface NoOpFloor {
  readonly taskQueue: string;
  /** Every workflow whose activity has run. */
  readonly done: Sightings;
  readonly processes: readonly MeasuredProcess[];
}

export async function startNoOpFloor(options: GroundworkOptions): Promise<NoOpFloor> {
  const { environment, closers, name } = options;
  const taskQueue = `bench-${name}-floor`;
  const done = new Sightings("the floor's activity");
  const port = await freePort();
  const worker = await startScript('floors/no-op', {
    env: { FLOOR_TASK_QUEUE: taskQueue, FLOOR_PORT: String(port) },
    logFile: path.join(environment.folder, `${name}-floor-no-op.log`),
    readyUrl: `http://127.0.0.1:${port}/ready`,
    onMessage: (id) => {
      done.note(String(id));
    },
  });
  closers.add(() => worker.stop());
  return { taskQueue, done, processes: [{ name: 'worker', pid: worker.pid }] };
}

async function untilReady(database: BenchDatabase): Promise<void> {
  const ready = await pollUntil(
    async () => {
      const counts = await database.counts(
        `select count(*) as ready from waybill.replicas where status = 'ready'`,
      );
      return counts['ready'] === 1;
    },
    { timeoutMs: READY_PATIENCE_MS, intervalMs: 100 },
  );
  if (!ready) throw new Error('the null host did not become ready');
}

function finishedIn(storeFile: string): number {
  const store = openSqlite(storeFile, { busyTimeoutMs: 1_000 });
  try {
    const row = store.prepare(`select count(*) as n from actions where state = 'finished'`).get();
    return Number((row as { readonly n: unknown }).n);
  } finally {
    store.close();
  }
}

/** One account, one host, and two quotas that are counted and never full. */
function fleetText(host: { readonly did: string; readonly port: number }): string {
  const { tenantId: tenant, connectorId, instanceId, version, replicaId } = NULL_HOST;
  const [revision] = NULL_HOST.credentialRevisions;
  const { interfaceName, timeoutMs, ...contract } = NOTHING_CONTRACT;
  const manifestDigest = manifestOf(
    NULL_HOST,
    nullCapabilities(() => undefined),
  ).digest;
  const timeout = `${timeoutMs}ms`;
  return [
    { kind: 'Capability', id: NOTHING, interface: interfaceName, timeout, ...contract },
    {
      kind: 'Connector',
      ...{ id: connectorId, name: 'Nothing', provider: 'bench', version, status: 'active' },
      ...{ manifestDigest, capabilities: [NOTHING] },
    },
    { kind: 'QuotaPolicy', id: 'counted', limits: { instance: ROOM, tenant: ROOM } },
    {
      kind: 'Instance',
      ...{ tenant, id: instanceId, connector: connectorId, version, grants: ['tool'] },
      credentials: [{ revision, status: 'active' }],
    },
    {
      kind: 'Binding',
      ...{ tenant, capability: NOTHING, instance: instanceId },
      ...{ credentialRevision: revision, quotaPolicy: 'counted' },
    },
    {
      kind: 'Replica',
      ...{ tenant, id: replicaId, instance: instanceId, capacity: ROOM },
      ...{ endpoint: `http://127.0.0.1:${host.port}`, transport: 'http-loopback' },
      ...{ peer: { did: host.did }, trustDomain: 'bench.test', region: 'here', zone: 'a' },
    },
  ]
    .map((document) => JSON.stringify(document))
    .join('\n---\n');
}
