/** The loops beside the Temporal workers of `waybill worker`. */
import type { Logger } from 'pino';
import type { Database } from '../db/database';
import { listenExpress } from '../db/notices';
import type { TenantId } from '../domain/ids';
import type { Queue } from '../domain/workflow-ids';
import type { Config } from '../schemas/config';
import type { AttemptServices } from '../services/attempt-services';
import type { PublishingServices } from '../services/event-publishing';
import type { Telemetry } from '../telemetry/telemetry';
import type { temporalClient } from '../temporal/connections';
import type { DeliveryWorkflows } from '../temporal/delivery-starter';
import { CLOCK_INTERVAL_MS, type DatabaseClock } from './database-clock';
import { databaseOptions } from './databases';
import { attendRound, gateWalk } from './loops/attend';
import { attendActionsRound } from './loops/attend-actions';
import { attendBulkReplaysRound } from './loops/attend-bulk-replays';
import { ExpressLane, type ExpressServices } from './loops/express';
import { Hint } from './loops/hint';
import { runLoop } from './loops/loop';
import { publishEventsLoop } from './loops/publish-events';
import { reportFigures } from './loops/report-figures';
import { sweepLoop } from './loops/sweep';
import { actionWorkflows, bulkReplayWorkflows, deliveryWorkflows } from './workflows';

const ATTEND_INTERVAL_MS = 500;
const EXPRESS_INTERVAL_MS = 50;

export interface LoopContext {
  readonly config: Config;
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly telemetry: Telemetry;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly client: ReturnType<typeof temporalClient>['client'];
  readonly clock: DatabaseClock;
  readonly queues: readonly Queue[];
  readonly publishing: PublishingServices;
  readonly deliveries: AttemptServices;
}

/** Runs those of the queues that are served until the signal. */
export async function runWorkerLoops(context: LoopContext): Promise<void> {
  const { operations, telemetry, signal, log, queues, publishing } = context;
  await Promise.all([
    ...(queues.includes('deliveries') ? deliveryLoops(context) : []),
    ...(queues.includes('actions') ? actionLoops(context) : []),
    ...(queues.includes('operations') ? bulkReplayLoops(context) : []),
    reportFigures({ operations, telemetry, signal, log }),
    publishEventsLoop({ ...publishing, signal, log }),
  ]);
}

function deliveryLoops(context: LoopContext): Promise<void>[] {
  const { config, operations, client, signal, log } = context;
  const workflows = deliveryWorkflows(config, client);
  const walk = gateWalk();
  return [
    runLoop({
      name: 'attend',
      intervalMs: ATTEND_INTERVAL_MS,
      round: () => attendRound({ operations, workflows, log, walk }),
      signal,
      log,
    }),
    expressLoop(context, workflows),
  ];
}

async function expressLoop(
  { config, operations, deliveries, signal, log }: LoopContext,
  workflows: DeliveryWorkflows,
): Promise<void> {
  const hint = new Hint();
  const services = {
    attempts: deliveries,
    start: (ref, about) => workflows.ensure(ref, about),
  } satisfies ExpressServices;
  const owner = `express@${String(process.pid)}`;
  const lane = new ExpressLane({ operations, services, owner, hint, signal, log });
  const heard = {
    onNotice: (tenant: TenantId | null) => {
      lane.notice(tenant);
    },
    onError: ({ message }: Error) => {
      log.warn(
        { err: message },
        'notices are not heard; the loop of the express lane looks by itself',
      );
    },
  };
  await Promise.all([
    runLoop({
      name: 'express',
      intervalMs: EXPRESS_INTERVAL_MS,
      round: () => lane.round(),
      ...{ signal, hint, log },
    }),
    config.database.notify
      ? listenExpress({ ...databaseOptions(config, 'waybill_operations', log), ...heard, signal })
      : undefined,
  ]);
  await lane.drain(config.temporal.shutdownGraceMs);
}

function bulkReplayLoops({
  config,
  operations,
  client,
  signal,
  log,
}: LoopContext): Promise<void>[] {
  const workflows = bulkReplayWorkflows(config, client);
  return [
    runLoop({
      name: 'attend-bulk-replays',
      intervalMs: ATTEND_INTERVAL_MS,
      round: () => attendBulkReplaysRound({ operations, workflows, log }),
      signal,
      log,
    }),
  ];
}

function actionLoops(context: LoopContext): Promise<void>[] {
  const { config, operations, client, signal, log, clock } = context;
  const workflows = actionWorkflows(config, client);
  return [
    sweepLoop({ operations, log, random: Math.random, signal }),
    runLoop({
      name: 'attend-actions',
      intervalMs: ATTEND_INTERVAL_MS,
      round: () => attendActionsRound({ operations, workflows, log }),
      signal,
      log,
    }),
    runLoop({
      name: 'clock',
      intervalMs: CLOCK_INTERVAL_MS,
      round: async () => {
        await clock.refresh();
        return false;
      },
      signal,
      log,
    }),
  ];
}
