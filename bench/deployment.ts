/** Waybill as it is deployed, for a benchmark: its own database, a fleet of one, real processes. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { DELIVERY_QUEUE } from '../src/domain/workflow-ids';
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
  readonly database: BenchDatabase;
  readonly taskQueue: string;
}

export interface DeploymentOptions {
  readonly environment: Environment;
  readonly closers: Closers;
  /** Keeps the deployments of one run apart. */
  readonly name: string;
  /** Where deliveries go; without one there is no worker, and nothing is dispatched. */
  readonly targetUrl?: string;
}

/** Migrates, publishes and starts; `closers` ends and drops it. */
export async function deploy(options: DeploymentOptions): Promise<Deployment> {
  const { environment, closers, name, targetUrl } = options;
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
  const fleet = path.join(folder, `${name}-fleet.yaml`);
  writeFileSync(fleet, fleetText(targetUrl ?? 'http://127.0.0.1:9/'));
  await runWaybill(['migrate'], { env, logFile: logOf('migrate') });
  await runWaybill(['apply', '-f', fleet], { env, logFile: logOf('apply') });

  const port = await freePort();
  const api = await startWaybill(['api', '--serve', 'ingress'], {
    env: { ...env, WAYBILL_PORT: String(port) },
    logFile: logOf('api'),
    readyUrl: `http://127.0.0.1:${port}/ready`,
  });
  closers.add(() => api.stop());
  if (targetUrl !== undefined) {
    const healthPort = await freePort();
    const worker = await startWaybill(['worker'], {
      env: { ...env, WAYBILL_HEALTH_PORT: String(healthPort) },
      logFile: logOf('worker'),
      readyUrl: `http://127.0.0.1:${healthPort}/ready`,
    });
    closers.add(() => worker.stop());
  }
  return {
    ingressUrl: `http://127.0.0.1:${port}/webhooks/bench-ingress`,
    database,
    taskQueue: `${queuePrefix}${DELIVERY_QUEUE}`,
  };
}

function fleetText(targetUrl: string): string {
  return `kind: Connector
id: github
name: GitHub
provider: github
version: 1.0.0
status: active
webhookScheme: github
---
kind: Instance
tenant: bench
id: github-bench
connector: github
version: 1.0.0
grants: [source]
---
kind: Target
tenant: bench
id: healthy
http:
  url: ${targetUrl}
  timeout: 10s
  secretRefs: [env:WAYBILL_BENCH_TARGET_SECRET]
---
kind: Subscription
tenant: bench
id: pushes
instance: github-bench
target: healthy
eventTypes: [push]
ingress:
  ref: bench-ingress
  secrets:
    - { id: current, ref: env:WAYBILL_BENCH_INGRESS_SECRET }
`;
}
