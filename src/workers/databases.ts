/** The pools of a process, each for one role. */
import type { Logger } from 'pino';
import type { DatabaseOptions, DatabaseRole } from '../db/database';
import { Database } from '../db/database';
import { WaybillError } from '../domain/errors';
import type { Config } from '../schemas/config';

const ADMIN_URL = 'DATABASE_URL';

const OWN_URLS = {
  waybill_control: { field: 'controlUrl', variable: 'WAYBILL_CONTROL_DATABASE_URL' },
  waybill_data: { field: 'dataUrl', variable: 'WAYBILL_DATA_DATABASE_URL' },
  waybill_operations: { field: 'operationsUrl', variable: 'WAYBILL_OPERATIONS_DATABASE_URL' },
  waybill_lifecycle: { field: 'lifecycleUrl', variable: 'WAYBILL_LIFECYCLE_DATABASE_URL' },
} as const satisfies Partial<Record<DatabaseRole, unknown>>;

/** The setting that says where a database is, and what it says. */
export interface DatabaseSetting {
  /** Null where neither this setting nor one that it stands for is set. */
  readonly url: string | null;
  readonly variable: string;
}

/** Where a role's pool connects: its own login where one is configured, else the administrator's. */
export function databaseSetting(
  { database }: Config,
  role: keyof typeof OWN_URLS,
): DatabaseSetting {
  const { field, variable } = OWN_URLS[role];
  const own = database[field];
  return own === null ? { url: database.adminUrl, variable: ADMIN_URL } : { url: own, variable };
}

/**
 * A pool for a role: its own login URL where one is configured, else the administrator's URL with
 * every connection started as that role.
 * @throws WaybillError `config_invalid` when neither is configured
 */
export function openDatabase(config: Config, role: keyof typeof OWN_URLS, log: Logger): Database {
  return new Database(databaseOptions(config, role, log));
}

/** How a pool for a role, or one connection, is opened. Throws as `openDatabase`. */
export function databaseOptions(
  config: Config,
  role: keyof typeof OWN_URLS,
  log: Logger,
): DatabaseOptions {
  const { field, variable } = OWN_URLS[role];
  const own = config.database[field];
  const { url } = databaseSetting(config, role);
  if (url === null) {
    throw new WaybillError('config_invalid', `set ${variable} or ${ADMIN_URL}`, {
      field: variable,
    });
  }
  return {
    url,
    role: own === null ? role : null,
    maxConnections: config.database.poolSize,
    statementTimeoutMs: config.database.statementTimeoutMs,
    applicationName: `waybill-${role.replace('waybill_', '')}`,
    preparedStatements: config.database.preparedStatements,
    onIdleError: (error) => {
      log.warn({ role, err: error.message }, 'an idle database connection broke');
    },
  };
}

/** The administrator's URL, for migrations. */
export function requireAdminUrl(config: Config): string {
  if (config.database.adminUrl !== null) return config.database.adminUrl;
  throw new WaybillError('config_invalid', `set ${ADMIN_URL} to run migrations`, {
    field: ADMIN_URL,
  });
}
