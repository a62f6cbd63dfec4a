/** What the activities of a worker work with, made once. */
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { actionLedger } from '../db/actions';
import { capabilityCatalog } from '../db/capabilities';
import type { Database } from '../db/database';
import { addressPolicy } from '../db/target-addresses';
import { actionTargetResolver } from '../db/routes';
import { QUEUES } from '../domain/workflow-ids';
import { createHostClient } from '../hosts/client';
import { ROUTE_TOKEN_ISSUER } from '../hosts/protocol/route-tokens';
import type { Config } from '../schemas/config';
import type { ActionServices } from '../services/actions/action-services';
import { actionSigner } from '../services/actions/receipts';
import { RequestChecks } from '../services/actions/request-checks';
import type { StartServices } from '../services/actions/starting';
import { AttemptClosings } from '../services/attempt-closings';
import type { AttemptServices } from '../services/attempt-services';
import { loadShippedSchemes } from '../schemas/shipped-schemes';
import type { CertificationServices } from '../services/certification';
import type { BulkReplayServices } from '../services/bulk-replays';
import type { PublishingServices } from '../services/event-publishing';
import type { UpkeepServices } from '../services/upkeep';
import type { SigningKey } from '../signing/keys';
import { httpTargets } from '../targets/http-target';
import type { Telemetry } from '../telemetry/telemetry';
import type { temporalClient } from '../temporal/connections';
import { workflowTargets } from '../temporal/workflow-targets';
import { ActionStarts } from './action-starts';
import type { Closers } from './closers';
import { DatabaseClock } from './database-clock';
import { processSecrets } from './secrets';
import { loadSigningKey } from './signing-keys';
import { CONNECTIONS_PER_HOST } from './worker-settings';
import { actionWorkflows, deliveryWorkflows, taskQueue } from './workflows';

/** Longer than a dispatch waits for a worker: what nobody took on is over before its reservation is. */
const RESERVATION_HOLD_MS = 45_000;

/** Most calls are over before; a page that people look at is not older than that. */
const WATCH_MS = 5_000;

/** What one line of the log says; `waybill routes audit` lists them all. */
const LOGGED_DIFFERENCES = 20;

export interface WorkerServices {
  readonly deliveries: AttemptServices;
  readonly actions: ActionServices;
  readonly upkeep: UpkeepServices;
  readonly bulkReplays: BulkReplayServices;
  readonly certifications: CertificationServices;
  readonly publishing: PublishingServices;
  readonly clock: DatabaseClock;
}

export interface WorkerParts {
  readonly config: Config;
  readonly log: Logger;
  /** Role waybill_data. */
  readonly data: Database;
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly client: ReturnType<typeof temporalClient>['client'];
  readonly telemetry: Telemetry;
}

/** What it opens is added to `closers`. */
export async function workerServices(
  parts: WorkerParts,
  closers: Closers,
): Promise<WorkerServices> {
  const { config, data, operations, telemetry, log } = parts;
  const targets = httpTargets({
    policy: addressPolicy(data),
  });
  closers.add(() => targets.close());
  const secrets = processSecrets(config);
  const signingKey = await loadSigningKey(config, secrets);
  const clock = await DatabaseClock.read(data);
  const hosts = createHostClient({
    issuer: ROUTE_TOKEN_ISSUER,
    key: signingKey,
    nowMs: () => clock.nowMs(),
    newJti: () => uuidv7(),
    connectionsPerHost: CONNECTIONS_PER_HOST,
  });
  closers.add(() => hosts.close());
  const replayed = deliveryWorkflows(config, parts.client);
  return {
    clock,
    deliveries: {
      ...{ data, secrets, signingKey, closings: new AttemptClosings(data) },
      call: targets.call,
      workflows: workflowTargets(
        parts.client,
        QUEUES.map((queue) => taskQueue(config, queue)),
      ),
      random: Math.random,
      metrics: telemetry.deliveries,
      actions: startServices(parts, signingKey),
    },
    actions: {
      ...{ data, hosts, sign: actionSigner(signingKey) },
      routes: actionTargetResolver(data, config.topology),
      random: Math.random,
      ...{ holdMs: RESERVATION_HOLD_MS, watchMs: WATCH_MS },
    },
    bulkReplays: {
      ...{ data, signingKey, metrics: telemetry.deliveries },
      random: Math.random,
      nudge: (ref, about) => replayed.replay(ref, about),
    },
    certifications: {
      ...{ operations, signingKey, shippedSchemes: loadShippedSchemes },
      nowMs: () => clock.nowMs(),
    },
    upkeep: {
      operations,
      signingKey,
      differ: (differences) => {
        const shown = differences.slice(0, LOGGED_DIFFERENCES);
        log.error({ count: differences.length, differences: shown }, 'counters differ');
      },
    },
    publishing: publishingServices(parts, { secrets, call: targets.call }),
  };
}

const SINK_TROUBLE = {
  failing: 'an event sink does not take its events',
  paused: 'an event sink was paused',
  parked: 'an event sink refuses an event; those after it of the same subject wait',
} as const;

function publishingServices(
  { operations, log }: WorkerParts,
  calling: Pick<PublishingServices, 'secrets' | 'call'>,
): PublishingServices {
  return {
    ...{ operations, ...calling, random: Math.random },
    trouble: ({ what, ...about }) => {
      log.warn(about, SINK_TROUBLE[what]);
    },
  };
}

/** What starting an action takes; the same in a worker and in the API. */
export function startServices(
  parts: Pick<WorkerParts, 'config' | 'data' | 'client' | 'log'>,
  signingKey: SigningKey,
): StartServices {
  const { config, data, client, log } = parts;
  const starts = new ActionStarts(actionWorkflows(config, client), log);
  return {
    data,
    ledger: actionLedger(data),
    catalog: capabilityCatalog(data),
    checks: new RequestChecks(),
    sign: actionSigner(signingKey),
    attend: (action, why) => {
      starts.attend(action, why);
    },
  };
}
