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
import { isLoopback } from '../domain/loopback';
import type { HttpDeps, Readiness, ServerDeps } from '../http/deps';
import { metricsRoute } from '../http/metrics';
import { createServer } from '../http/server';
import type { TokenVerifier } from '../http/tokens';
import { developmentTokens } from '../http/tokens/development';
import { jwksTokens } from '../http/tokens/jwks';
import { routeTokenTrust } from '../hosts/protocol/route-tokens';
import type { Config } from '../schemas/config';
import { actionService } from '../services/actions/starting';
import { exportReceipts } from '../services/receipt-export';
import { decideReplay } from '../services/replays';
import type { SecretProvider } from '../secrets/provider';
import { importSigningKey, publicKeySet, type SigningKey } from '../signing/keys';
import type { Telemetry } from '../telemetry/telemetry';
import { createTelemetry } from '../telemetry/telemetry';
import { temporalClient, temporalSettings } from '../temporal/connections';
import { nudging } from './bulk-replay-nudges';
import { Closers } from './closers';
import { openDatabase } from './databases';
import { DeliveryStarts } from './delivery-starts';
import { namingPort } from './naming-port';
import { startPrivateServer } from './private-server';
import { ingressCounting } from './ingress-counting';
import { repinning } from './repinning';
import { processSecrets } from './secrets';
import { developmentKeyText, loadSigningKeyText } from './signing-keys';
import { startServices } from './worker-services';
import { bulkReplayWorkflows, certificationWorkflows, deliveryWorkflows } from './workflows';
import { certifying } from './certifying';

export interface ApiOptions {
  readonly serve: {
    readonly api: boolean;
    readonly ingress: boolean;
    /** Where hosts register and renew their leases. */
    readonly lifecycle: boolean;
  };
}

export interface RunningApi {
  /** Where it listens, with the port that was really taken. */
  readonly url: string;
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
    const url = await start({ config, options, log }, closers);
    log.info({ url, serve: options.serve }, 'api started');
    return { url, stop: () => closers.close() };
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
async function start(wanted: Wanted, closers: Closers): Promise<string> {
  const { config, options, log } = wanted;
  // Nobody asks an ingress for a token, nor a host.
  const tokens = options.serve.api ? await tokenVerifier(config) : null;
  const pools: Pools = {
    data:
      options.serve.api || options.serve.ingress
        ? await openPool(wanted, closers, 'waybill_data')
        : null,
    fleet: options.serve.lifecycle ? await openPool(wanted, closers, 'waybill_lifecycle') : null,
  };
  const telemetry = createTelemetry({ service: 'waybill-api' });
  const common = await commonParts({ ...wanted, pools, tokens, telemetry });
  const server = createServer(
    pools.data === null
      ? { ...serverDeps(common), serve: null }
      : httpDeps({ ...common, data: pools.data, client: openTemporal(closers) }, closers),
  );
  const metrics = await serveMetrics(config, log, telemetry);
  closers.add(() => metrics?.close());
  closers.add(() => server.close());
  const { host, port } = config.http;
  const wish = { host, port, setting: 'WAYBILL_PORT' };
  return await namingPort(wish, () => server.listen({ host, port }));
}

/** One for each role that something served here needs, and no other. */
interface Pools {
  /** API and ingress. */
  readonly data: Database | null;
  /** Lifecycle. */
  readonly fleet: Database | null;
}

async function openPool(
  { config, log }: Wanted,
  closers: Closers,
  role: 'waybill_data' | 'waybill_lifecycle',
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
  readonly client: TemporalClient;
}

function httpDeps(parts: Parts, closers: Closers): HttpDeps {
  const { config, log, data, tokens, telemetry, secrets, keyText, signingKey } = parts;
  const starting = startServices(parts, parts.signingKey);
  const replays = { data, signingKey, metrics: telemetry.deliveries };
  return {
    ...serverDeps(parts),
    data,
    secrets,
    starter: new DeliveryStarts(deliveryWorkflows(config, parts.client), data, log),
    replay: (ref, who) => decideReplay(replays, ref, who),
    bulkReplays: {
      nudge: nudging(bulkReplayWorkflows(config, parts.client), log),
      newJobId: () => replayJobId(uuidv7()),
    },
    certifications: certifying(certificationWorkflows(config, parts.client), signingKey),
    actions: actionService(starting),
    repin: repinning(starting, signingKey, closers),
    exportReceipts: (tenant) => exportReceipts({ data, signingKey, nowMs: Date.now }, tenant),
    temporalUi: config.http.temporalUi,
    namespace: temporalSettings().namespace,
    serve: { ingress: parts.options.serve.ingress, api: tokens === null ? null : { tokens } },
    publicBaseUrl: config.http.publicUrl,
    // Every process of the deployment signs receipts with one key, so they agree on this one, too.
    cursorKey: createHmac('sha256', keyText).update('waybill-cursors').digest(),
    newDeliveryId: () => deliveryId(uuidv7()),
    count: ingressCounting(telemetry),
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
async function readiness({ data, fleet }: Pools): Promise<Readiness> {
  try {
    if (data !== null) await checkDatabase(data, 'waybill_data');
    if (fleet !== null) await checkDatabase(fleet, 'waybill_lifecycle');
    return { ready: true, checks: { postgres: 'ok' } };
  } catch (error) {
    const why = error instanceof WaybillError ? error.message : 'the check failed';
    return { ready: false, checks: { postgres: why } };
  }
}

async function tokenVerifier(config: Config): Promise<TokenVerifier> {
  const { jwksUrl, issuer, audience } = config.tokens;
  if (jwksUrl !== null) {
    if (issuer === null) {
      throw new WaybillError(
        'config_invalid',
        'WAYBILL_TOKEN_JWKS_URL needs WAYBILL_TOKEN_ISSUER',
        {
          field: 'WAYBILL_TOKEN_ISSUER',
        },
      );
    }
    return jwksTokens({ jwksUrl: new URL(jwksUrl), issuer, audience });
  }
  if (!isLoopback(config.http.host)) {
    throw new WaybillError(
      'dev_key_outside_loopback',
      `WAYBILL_HOST is ${config.http.host}: set WAYBILL_TOKEN_JWKS_URL, or listen on 127.0.0.1`,
    );
  }
  const key = await importSigningKey(await developmentKeyText(config));
  return developmentTokens(key.publicJwk);
}
