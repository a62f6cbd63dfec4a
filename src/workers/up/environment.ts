/** The environment that the processes under `waybill up` get. */
import path from 'node:path';
import type { UpSettings } from './settings';

/** Where the servers are, once they run. */
export interface ServerAddresses {
  readonly databaseUrl: string;
  /** `host:port`. */
  readonly temporal: string;
  readonly temporalUi: string | null;
}

/** Nobody at a keyboard waits as long as a deployment may; what is cut off is sent again. */
const SHUTDOWN_GRACE = '5s';

/** Logins of another database than the embedded one. */
const OWN_LOGINS = [
  'WAYBILL_CONTROL_DATABASE_URL',
  'WAYBILL_DATA_DATABASE_URL',
  'WAYBILL_OPERATIONS_DATABASE_URL',
  'WAYBILL_LIFECYCLE_DATABASE_URL',
];

/**
 * Ours, with the addresses of what was started. Where a server is embedded, variables that were
 * meant for another one (logins, TLS, a namespace) are left out: they would lead away from it.
 */
export function processEnvironment(
  given: Readonly<Record<string, string | undefined>>,
  settings: UpSettings,
  servers: ServerAddresses,
  secrets: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = Object.entries(given).filter(([name, value]) => {
    if (value === undefined) return false;
    if (settings.databaseUrl === null && OWN_LOGINS.includes(name)) return false;
    return settings.temporalAddress !== null || !name.startsWith('TEMPORAL_');
  });
  const { api, health, grpc } = settings.ports;
  return {
    WAYBILL_SHUTDOWN_GRACE: SHUTDOWN_GRACE,
    ...(Object.fromEntries(kept) as Record<string, string>),
    ...(settings.temporalAddress === null ? embeddedTemporal(settings.home) : {}),
    DATABASE_URL: servers.databaseUrl,
    TEMPORAL_ADDRESS: servers.temporal,
    ...(servers.temporalUi === null ? {} : { WAYBILL_TEMPORAL_UI: servers.temporalUi }),
    WAYBILL_HOME: settings.home,
    WAYBILL_PORT: String(api),
    WAYBILL_HEALTH_PORT: String(health),
    WAYBILL_GRPC_PORT: String(grpc),
    ...secrets,
  };
}

/** A user's configuration file is for other servers: one that is not there counts as none. */
function embeddedTemporal(home: string): Record<string, string> {
  const none = path.join(home, 'no-temporal-configuration.toml');
  return { TEMPORAL_NAMESPACE: 'default', TEMPORAL_CONFIG_FILE: none };
}
