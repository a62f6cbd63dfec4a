/** The settings of a process, read once from its environment. docs/operations.md lists them. */
import { z } from 'zod';
import { WaybillError } from '../domain/errors';
import { isLoopbackUrl } from '../domain/loopback';
import { Duration } from './durations';

const Port = z.coerce.number().int().min(0).max(65_535);
const CallRate = z.coerce.number().int().min(1).max(100_000_000);
const PostgresUrl = z.url({ protocol: /^postgres(ql)?$/ });
/** Addresses and ranges, separated by commas: `10.0.0.0/8, 127.0.0.1`. */
const AddressList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])));
/** A token travels there. */
const VaultUrl = z
  .url({ protocol: /^https?$/ })
  .refine(
    (text) => text.startsWith('https:') || isLoopbackUrl(new URL(text)),
    'must be https, but on loopback',
  );
/** Texts separated by commas. */
const TextList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);
const HttpUrl = z.url({ protocol: /^https?$/ });

const Environment = z.object({
  DATABASE_URL: PostgresUrl.optional(),
  WAYBILL_CONTROL_DATABASE_URL: PostgresUrl.optional(),
  WAYBILL_DATA_DATABASE_URL: PostgresUrl.optional(),
  WAYBILL_OPERATIONS_DATABASE_URL: PostgresUrl.optional(),
  WAYBILL_LIFECYCLE_DATABASE_URL: PostgresUrl.optional(),
  WAYBILL_PREPARED_STATEMENTS: z.enum(['on', 'off']).default('on'),
  WAYBILL_NOTIFY: z.enum(['on', 'off']).default('on'),
  WAYBILL_POOL_SIZE: z.coerce.number().int().min(1).max(200).default(10),
  WAYBILL_STATEMENT_TIMEOUT: Duration.default(10_000),

  WAYBILL_HOME: z.string().min(1).default('.waybill'),
  WAYBILL_HOST: z.string().min(1).default('127.0.0.1'),
  WAYBILL_PORT: Port.default(7380),
  WAYBILL_HEALTH_PORT: Port.default(7381),
  WAYBILL_METRICS_PORT: Port.optional(),
  WAYBILL_GRPC_PORT: Port.default(7383),
  WAYBILL_GRPC_TLS_CERT: z.string().min(1).optional(),
  WAYBILL_GRPC_TLS_KEY: z.string().min(1).optional(),
  WAYBILL_GRPC_PLAIN: z.enum(['on', 'off']).default('off'),
  WAYBILL_PUBLIC_URL: HttpUrl.optional(),
  WAYBILL_TRUSTED_PROXIES: AddressList.default([]),
  WAYBILL_TEMPORAL_UI: HttpUrl.optional(),

  WAYBILL_SIGNING_KEY: z.string().min(1).optional(),
  WAYBILL_SECRETS_DIR: z.string().min(1).default('.'),
  // Vault's own names, so that what is set for its other programs serves. VAULT_TOKEN is a secret and
  // read where it is used.
  VAULT_ADDR: VaultUrl.optional(),
  VAULT_NAMESPACE: z.string().min(1).optional(),
  VAULT_CACERT: z.string().min(1).optional(),
  WAYBILL_VAULT_TOKEN_FILE: z.string().min(1).optional(),

  WAYBILL_TOKEN_JWKS_URL: HttpUrl.optional(),
  WAYBILL_TOKEN_ISSUER: z.string().min(1).optional(),
  WAYBILL_TOKEN_AUDIENCE: z.string().min(1).default('waybill'),

  WAYBILL_API_SUBJECT_RATE: CallRate.default(60_000),
  WAYBILL_API_TENANT_RATE: CallRate.default(120_000),
  WAYBILL_TENANT_SECRETS: TextList.default(['file:{tenant}/']),

  WAYBILL_LIFECYCLE_AUDIENCE: z.string().min(1).max(200).default('urn:waybill:lifecycle'),

  WAYBILL_REGION: z.string().min(1).optional(),
  WAYBILL_ZONE: z.string().min(1).optional(),
  WAYBILL_CROSS_REGION: z.enum(['on', 'off']).default('on'),
  WAYBILL_CAPACITY_CLASS: z.string().min(1).optional(),

  WAYBILL_TASK_QUEUE_PREFIX: z.string().default(''),
  WAYBILL_HEARTBEAT_TIMEOUT: Duration.default(10_000),
  // Shorter than the five minutes after which a loop looks after a held delivery.
  WAYBILL_HELD_POLL: Duration.pipe(z.number().max(240_000, 'must be at most 4m')).default(60_000),
  WAYBILL_FAILED_WAIT: Duration.default(7 * 86_400_000),
  WAYBILL_SHUTDOWN_GRACE: Duration.default(20_000),
  WAYBILL_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
});

export type Config = ReturnType<typeof shape>;

/**
 * Reads the settings; a variable that is set but empty counts as not set.
 * @throws WaybillError `config_invalid` naming every variable that is wrong
 */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = Environment.safeParse(given);
  if (!parsed.success) {
    const wrong = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new WaybillError('config_invalid', wrong.join('; '));
  }
  return shape(parsed.data);
}

function shape(env: z.infer<typeof Environment>) {
  return {
    database: {
      /** An administrator's URL: migrations use it, and pools without a URL of their own. */
      adminUrl: env.DATABASE_URL ?? null,
      controlUrl: env.WAYBILL_CONTROL_DATABASE_URL ?? null,
      dataUrl: env.WAYBILL_DATA_DATABASE_URL ?? null,
      operationsUrl: env.WAYBILL_OPERATIONS_DATABASE_URL ?? null,
      lifecycleUrl: env.WAYBILL_LIFECYCLE_DATABASE_URL ?? null,
      preparedStatements: env.WAYBILL_PREPARED_STATEMENTS,
      notify: env.WAYBILL_NOTIFY === 'on',
      poolSize: env.WAYBILL_POOL_SIZE,
      statementTimeoutMs: env.WAYBILL_STATEMENT_TIMEOUT,
    },
    home: env.WAYBILL_HOME,
    http: {
      host: env.WAYBILL_HOST,
      port: env.WAYBILL_PORT,
      healthPort: env.WAYBILL_HEALTH_PORT,
      /** Where the API serves its metrics; null: nowhere. Never on the port that vendors reach. */
      metricsPort: env.WAYBILL_METRICS_PORT ?? null,
      publicUrl: env.WAYBILL_PUBLIC_URL ?? `http://${env.WAYBILL_HOST}:${env.WAYBILL_PORT}`,
      temporalUi: env.WAYBILL_TEMPORAL_UI ?? null,
      /** Balancers whose X-Forwarded-For names the sender; it only decides whom a limit counts for. */
      trustedProxies: env.WAYBILL_TRUSTED_PROXIES,
      callRates: callRatesOf(env),
    },
    grpc: grpcOf(env),
    signingKeyRef: env.WAYBILL_SIGNING_KEY ?? null,
    secretsDir: env.WAYBILL_SECRETS_DIR,
    vault: vaultOf(env),
    tokens: {
      jwksUrl: env.WAYBILL_TOKEN_JWKS_URL ?? null,
      issuer: env.WAYBILL_TOKEN_ISSUER ?? null,
      audience: env.WAYBILL_TOKEN_AUDIENCE,
    },
    /** What references to secrets begin with that a tenant writes itself; `{tenant}` is its name. */
    tenantSecrets: env.WAYBILL_TENANT_SECRETS,
    /** What a host's call must be addressed to. */
    lifecycleAudience: env.WAYBILL_LIFECYCLE_AUDIENCE,
    /** Where new routes are preferred; never part of a request. */
    topology: {
      region: env.WAYBILL_REGION ?? null,
      zone: env.WAYBILL_ZONE ?? null,
      crossRegion: env.WAYBILL_CROSS_REGION === 'on',
      capacityClass: env.WAYBILL_CAPACITY_CLASS ?? null,
    },
    temporal: {
      taskQueuePrefix: env.WAYBILL_TASK_QUEUE_PREFIX,
      heartbeatMs: env.WAYBILL_HEARTBEAT_TIMEOUT,
      heldPollMs: env.WAYBILL_HELD_POLL,
      /** A failed delivery's page stays open this long; a replay is possible after that, too. */
      failedWaitMs: env.WAYBILL_FAILED_WAIT,
      shutdownGraceMs: env.WAYBILL_SHUTDOWN_GRACE,
    },
    logLevel: env.WAYBILL_LOG_LEVEL,
  } as const;
}

/** Calls of the API in a minute, of each process. */
function callRatesOf(env: z.infer<typeof Environment>) {
  return { perSubject: env.WAYBILL_API_SUBJECT_RATE, perTenant: env.WAYBILL_API_TENANT_RATE };
}

function grpcOf(env: z.infer<typeof Environment>) {
  return {
    port: env.WAYBILL_GRPC_PORT,
    /** PEM files. */
    certificateFile: env.WAYBILL_GRPC_TLS_CERT ?? null,
    privateKeyFile: env.WAYBILL_GRPC_TLS_KEY ?? null,
    /** Without TLS outside loopback, too: something else before it has TLS. */
    plain: env.WAYBILL_GRPC_PLAIN === 'on',
  };
}

function vaultOf(env: z.infer<typeof Environment>) {
  return {
    address: env.VAULT_ADDR ?? null,
    namespace: env.VAULT_NAMESPACE ?? null,
    caFile: env.VAULT_CACERT ?? null,
    tokenFile: env.WAYBILL_VAULT_TOKEN_FILE ?? null,
  };
}
