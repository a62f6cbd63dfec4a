/** The floor beside a deployment: what the same job costs when nothing else is done. */
import path from 'node:path';
import { freePort } from '../src/workers/embedded/ports';
import type { Closers } from '../src/workers/closers';
import { createDatabase, type BenchDatabase } from './databases';
import { POOL_SIZE, TARGET_SECRET } from './deployment';
import type { Environment } from './environment';
import { startScript } from './processes';

export interface RunningFloor {
  /** Takes the same requests as an ingress. */
  readonly acceptUrl: string;
  readonly database: BenchDatabase;
  readonly taskQueue: string;
}

export interface FloorOptions {
  readonly environment: Environment;
  readonly closers: Closers;
  /** Keeps the floors of one run apart. */
  readonly name: string;
  /** Where it calls; without one nothing is dispatched. */
  readonly targetUrl?: string;
  /** It calls by itself, without a workflow. */
  readonly relays?: true;
}

const TABLE = `create table floor_deliveries (
  delivery_id uuid primary key,
  payload bytea not null,
  received_at timestamptz not null default clock_timestamp()
)`;

/** Starts it; `closers` ends and drops it. */
export async function startFloors(options: FloorOptions): Promise<RunningFloor> {
  const { environment, closers, name, targetUrl, relays } = options;
  const database = await createDatabase(environment.databaseUrl);
  closers.add(() => database.drop());
  await database.run(TABLE);
  const taskQueue = `bench-${name}-floor`;
  const start = async (
    floor: 'accept' | 'worker',
    env: Readonly<Record<string, string>>,
  ): Promise<number> => {
    const port = await freePort();
    const running = await startScript(`floors/${floor}`, {
      env: { ...env, FLOOR_PORT: String(port) },
      logFile: path.join(environment.folder, `${name}-floor-${floor}.log`),
      readyUrl: `http://127.0.0.1:${port}/ready`,
    });
    closers.add(() => running.stop());
    return port;
  };
  const accepting = { FLOOR_DATABASE_URL: database.url, FLOOR_POOL_SIZE: String(POOL_SIZE) };
  const target =
    targetUrl === undefined
      ? {}
      : { FLOOR_TARGET_URL: targetUrl, FLOOR_TARGET_SECRET: TARGET_SECRET };
  const hasWorkflows = targetUrl !== undefined && relays === undefined;
  const dispatching = hasWorkflows ? { FLOOR_TASK_QUEUE: taskQueue } : target;
  const port = await start('accept', { ...accepting, ...dispatching });
  if (hasWorkflows) await start('worker', { ...dispatching, ...target });
  return { acceptUrl: `http://127.0.0.1:${port}/webhooks/bench-ingress`, database, taskQueue };
}
