/** What the activities of a worker work with, made once. */
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { actionLedger } from '../db/actions';
import { capabilityCatalog } from '../db/capabilities';
import type { Database } from '../db/database';
import { actionTargetResolver } from '../db/routes';
import { createHostClient } from '../hosts/client';
import { ROUTE_TOKEN_ISSUER } from '../hosts/protocol/route-tokens';
import type { Config } from '../schemas/config';
import type { ActionServices } from '../services/actions/action-services';
import { RequestChecks } from '../services/actions/request-checks';
import type { StartServices } from '../services/actions/starting';
import type { AttemptServices } from '../services/attempt-services';
import type { UpkeepServices } from '../services/upkeep';
import { httpTargets } from '../targets/http-target';
import type { Telemetry } from '../telemetry/telemetry';
import type { temporalClient } from '../temporal/connections';
import { ActionStarts } from './action-starts';
import type { Closers } from './closers';
import { DatabaseClock } from './database-clock';
import { processSecrets } from './secrets';
import { loadSigningKey } from './signing-keys';
import { CONNECTIONS_PER_HOST, CONNECTIONS_PER_TARGET } from './worker-settings';
import { actionWorkflows } from './workflows';

/** Longer than a dispatch waits for a worker: what nobody took on is over before its reservation is. */
const RESERVATION_HOLD_MS = 45_000;

/** What one line of the log says; `waybill routes audit` lists them all. */
const LOGGED_DIFFERENCES = 20;

export interface WorkerServices {
  readonly deliveries: AttemptServices;
  readonly actions: ActionServices;
  readonly upkeep: UpkeepServices;
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
  const targets = httpTargets({ connectionsPerOrigin: CONNECTIONS_PER_TARGET });
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
  return {
    clock,
    deliveries: {
      ...{ data, secrets, signingKey },
      call: targets.call,
      random: Math.random,
      metrics: telemetry.deliveries,
      actions: startServices(parts),
    },
    actions: {
      ...{ data, hosts },
      routes: actionTargetResolver(data, config.topology),
      random: Math.random,
      holdMs: RESERVATION_HOLD_MS,
    },
    upkeep: {
      operations,
      differ: (differences) => {
        const shown = differences.slice(0, LOGGED_DIFFERENCES);
        log.error({ count: differences.length, differences: shown }, 'counters differ');
      },
    },
  };
}

/** What starting an action takes; the same in a worker and in the API. */
export function startServices(
  parts: Pick<WorkerParts, 'config' | 'data' | 'client' | 'log'>,
): StartServices {
  const { config, data, client, log } = parts;
  const starts = new ActionStarts(actionWorkflows(config, client), log);
  return {
    data,
    ledger: actionLedger(data),
    catalog: capabilityCatalog(data),
    checks: new RequestChecks(),
    attend: (action, why) => {
      starts.attend(action, why);
    },
  };
}
