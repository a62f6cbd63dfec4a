/**
 * `waybill api`: the HTTP server with the parts that `--serve` names. Stops in order: intake and
 * requests under way, client, pool.
 */
import { createHmac } from 'node:crypto';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Database } from '../db/database';
import { checkDatabase } from '../db/migrations';
import { WaybillError } from '../domain/errors';
import { deliveryId, replayJobId } from '../domain/ids';
import type { HttpDeps, Readiness, ServerDeps } from '../http/deps';
import { metricsRoute } from '../http/metrics';
import { callLimits } from '../http/rate-limits';
import { createServer } from '../http/server';
import type { TokenVerifier } from '../http/tokens';
import { routeTokenTrust } from '../hosts/protocol/route-tokens';
import type { Config } from '../schemas/config';
import { actionService } from '../services/actions/starting';
import { deliverService } from '../services/deliver';
import { exportReceipts } from '../services/receipt-export';
import { decideReplay } from '../services/replays';
import type { SecretProvider } from '../secrets/provider';
import { importSigningKey, publicKeySet, type SigningKey } from '../signing/keys';
import type { Telemetry } from '../telemetry/telemetry';
import { createTelemetry } from '../telemetry/telemetry';
import { temporalClient, temporalSettings } from '../temporal/connections';
import { nudging } from './bulk-replay-nudges';
import { adminDeps } from './admin-deps';
import { Closers } from './closers';
import { keptClock, type DatabaseClock } from './database-clock';
import { openDatabase } from './databases';
import { DeliveryStarts } from './delivery-starts';
import { grpcTls, serveGrpc } from './grpc-server';
import { namingPort } from './naming-port';
import { startPrivateServer } from './private-server';
import { ingressCounting } from './ingress-counting';
import { repinning } from './repinning';
import { processSecrets } from './secrets';
import { loadSigningKeyText } from './signing-keys';
import { tokenVerifier } from './token-verifier';
import { startServices } from './worker-services';
import { bulkReplayWorkflows, certificationWorkflows, deliveryWorkflows } from './workflows';
import { certifying } from './certifying';

export interface ApiOptions {
  readonly serve: {
    readonly api: boolean;
    readonly ingress: boolean;
    /** Where hosts register and renew their leases. */
    readonly lifecycle: boolean;
    /** Calls that change the catalog. */
    readonly admin: boolean;
    /** On a port of its own. */
    readonly grpc: boolean;
  };
}

export interface RunningApi {
  /** Where it listens, with the port that was really taken. */
  readonly url: string;
  /** `host:port` of the gRPC server; null: not served. */
  readonly grpcAddress: string | null;
  stop(): Promise<void>;
}

/**
 * Starts it; resolves once it listens. A start that fails leaves nothing open.
 * @throws WaybillError `dev_key_outside_loopback`, `port_in_use`, `config_invalid`, and those of
 *   `checkDatabase`
 */
export async function startApi(
  config: Config,
  options: ApiOptions,
  log: Logger,
): Promise<RunningApi> {
  const closers = new Closers();
  try {
    const started = await start({ config, options, log }, closers);
    log.info({ ...started, serve: options.serve }, 'api started');
    return { ...started, stop: () => closers.close() };
  } catch (error) {
    await Promise.allSettled([closers.close()]);
    throw error;
  }
}

interface Wanted {
  readonly config: Config;
  readonly options: ApiOptions;
  readonly log: Logger;
}

/** Answers where it listens. */
async function start(wanted: Wanted, closers: Closers): Promise<Omit<RunningApi, 'stop'>> {
  const { config, options, log } = wanted;
  const { api, ingress, lifecycle, admin, grpc } = options.serve;
  const tls = grpc ? await grpcTls(config) : null;
  // Nobody asks an ingress for a token, nor a host.
  const tokensAt = api || admin || grpc ? await tokenVerifier(config) : null;
  const open = (served: boolean, role: ServedRole) =>
    served ? openPool(wanted, closers, role) : null;
  const pools: Pools = {
    data: await open(api || ingress || admin || grpc, 'waybill_data'),
    fleet: await open(lifecycle, 'waybill_lifecycle'),
    control: await open(admin, 'waybill_control'),
  };
  const telemetry = createTelemetry({ service: 'waybill-api' });
  const clock = pools.data === null ? null : await keptClock(pools.data, closers, log);
  const tokens = clock === null ? null : (tokensAt?.(() => clock.nowMs()) ?? null);
  const common = await commonParts({ ...wanted, pools, tokens, telemetry });
  const parts =
    pools.data === null || clock === null
      ? null
      : httpDeps({ ...common, data: pools.data, clock, client: openTemporal(closers) }, closers);
  const server = createServer(parts ?? { ...serverDeps(common), serve: null });
  const metrics = await serveMetrics(config, log, telemetry);
  closers.add(() => metrics?.close());
  closers.add(() => server.close());
  const { host, port } = config.http;
  const wish = { host, port, setting: 'WAYBILL_PORT' };
  const url = await namingPort(wish, () => server.listen({ host, port }));
  if (!grpc || parts === null || tokens === null) return { url, grpcAddress: null };
  return { url, grpcAddress: await serveGrpc({ ...parts, config, tokens, tls }, closers) };
}

/** One for each role that something served here needs, and no other. */
interface Pools {
  /** API and ingress. */
  readonly data: Database | null;
  /** Lifecycle. */
  readonly fleet: Database | null;
  /** Admin: whoever serves none of it cannot write the catalog. */
  readonly control: Database | null;
}

type ServedRole = 'waybill_data' | 'waybill_lifecycle' | 'waybill_control';

async function openPool(
  { config, log }: Wanted,
  closers: Closers,
  role: ServedRole,
): Promise<Database> {
  const pool = openDatabase(config, role, log);
  closers.add(() => pool.close());
  await checkDatabase(pool, role);
  return pool;
}

function openTemporal(closers: Closers): TemporalClient {
  const temporal = temporalClient();
  closers.add(() => temporal.close());
  return temporal.client;
}

type TemporalClient = ReturnType<typeof temporalClient>['client'];

interface CommonParts extends Wanted {
  readonly pools: Pools;
  readonly tokens: TokenVerifier | null;
  readonly telemetry: Telemetry;
  readonly secrets: SecretProvider;
  readonly keyText: string;
  readonly signingKey: SigningKey;
}

async function commonParts(
  parts: Omit<CommonParts, 'secrets' | 'keyText' | 'signingKey'>,
): Promise<CommonParts> {
  const secrets = processSecrets(parts.config);
  const keyText = await loadSigningKeyText(parts.config, secrets);
  return { ...parts, secrets, keyText, signingKey: await importSigningKey(keyText) };
}

function serverDeps({ config, log, pools, signingKey }: CommonParts): ServerDeps {
  const { fleet } = pools;
  return {
    log,
    publicKeys: publicKeySet([signingKey]),
    trustedProxies: config.http.trustedProxies,
    ready: () => readiness(pools),
    newRequestId: () => uuidv7(),
    lifecycle:
      fleet === null
        ? null
        : {
            fleet,
            audience: config.lifecycleAudience,
            trust: routeTokenTrust([signingKey]),
          },
  };
}

interface Parts extends CommonParts {
  readonly data: Database;
  readonly clock: DatabaseClock;
  readonly client: TemporalClient;
}

function httpDeps(parts: Parts, closers: Closers): HttpDeps {
  const { config, log, data, telemetry, secrets, keyText, signingKey } = parts;
  const starting = startServices(parts, parts.signingKey);
  const replays = { data, signingKey, metrics: telemetry.deliveries };
  const workflows = deliveryWorkflows(config, parts.client);
  const starter = new DeliveryStarts({ workflows, data, log, notify: config.database.notify });
  const newDeliveryId = () => deliveryId(uuidv7());
  return {
    ...serverDeps(parts),
    data,
    secrets,
    starter,
    deliver: deliverService({
      ...{ data, newDeliveryId },
      start: (ref, about) => {
        starter.start(ref, about);
      },
    }),
    replay: (ref, who) => decideReplay(replays, ref, who),
    bulkReplays: {
      nudge: nudging(bulkReplayWorkflows(config, parts.client), log),
      newJobId: () => replayJobId(uuidv7()),
    },
    certifications: certifying(certificationWorkflows(config, parts.client), signingKey),
    actions: actionService(starting),
    repin: repinning(starting, signingKey, closers),
    exportReceipts: (tenant) =>
      exportReceipts({ data, signingKey, nowMs: () => parts.clock.nowMs() }, tenant),
    temporalUi: config.http.temporalUi,
    namespace: temporalSettings().namespace,
    serve: servedParts(parts),
    callLimits: callLimits(config.http.callRates),
    publicBaseUrl: config.http.publicUrl,
    // Every process of the deployment signs receipts with one key, so they agree on this one, too.
    cursorKey: createHmac('sha256', keyText).update('waybill-cursors').digest(),
    newDeliveryId,
    count: ingressCounting(telemetry),
  };
}

function servedParts({ config, options, pools, tokens, secrets }: Parts): HttpDeps['serve'] {
  const { api, ingress } = options.serve;
  const { control } = pools;
  return {
    ingress,
    api: tokens === null || !api ? null : { tokens },
    admin:
      tokens === null || control === null
        ? null
        : { tokens, ...adminDeps(config, control, secrets) },
  };
}

/** Metrics name tenants: they have a port of their own, or none. */
async function serveMetrics(config: Config, log: Logger, telemetry: Telemetry) {
  const { host, metricsPort: port } = config.http;
  if (port === null) return null;
  return await startPrivateServer({
    host,
    port,
    setting: 'WAYBILL_METRICS_PORT',
    log,
    routes: (app) => {
      metricsRoute(app, telemetry.text);
    },
  });
}

/** Deliveries are accepted while Temporal is away, so only Postgres decides. */
async function readiness({ data, fleet, control }: Pools): Promise<Readiness> {
  try {
    if (control !== null) await checkDatabase(control, 'waybill_control');
    if (data !== null) await checkDatabase(data, 'waybill_data');
    if (fleet !== null) await checkDatabase(fleet, 'waybill_lifecycle');
    return { ready: true, checks: { postgres: 'ok' } };
  } catch (error) {
    const why = error instanceof WaybillError ? error.message : 'the check failed';
    return { ready: false, checks: { postgres: why } };
  }
}
