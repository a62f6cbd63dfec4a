/**
 * Forward-only migrations (docs/architecture, "Postgres"). A run is one transaction: roles and
 * schema, then every missing migration with its ledger row, or nothing. Files that were applied
 * and then edited are refused by checksum.
 */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import Postgrator from 'postgrator';
import { WaybillError } from '../domain/errors';
import type { Database, DatabaseRole, Statement } from './database';
import { DATABASE_ROLES } from './database';
import { asDomainError, isMissingObject, isPermissionDenied } from './sqlstates';

/** Schema versions that this build can work with: expand first, contract later. */
export const SUPPORTED_SCHEMA = { min: 40, max: 40 } as const;

const MIGRATIONS_FOLDER = path.join(__dirname, '..', '..', 'migrations');
const LEDGER = 'waybill.schema_version';

const REMEDY = 'give the pool a login of its own (see docs/security.md, Database roles)';

export const schemaStatements = {
  version: { name: 'schema_version', text: `select max(version) as version from ${LEDGER}` },
  role: {
    name: 'schema_role',
    text: `select rolname as role, rolsuper or rolbypassrls as "bypassesRowSecurity",
        pg_has_role(current_user, $1::name, 'usage') as "actsAsRole",
        (select min(o.rolname) from pg_roles o where o.rolname = any ($2::name[])
          and o.rolname <> $1::name and pg_has_role(current_user, o.oid, 'usage')) as "alsoActsAs"
      from pg_roles where rolname = current_user`,
  },
} as const satisfies Record<string, Statement>;

export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
}

/**
 * Brings the schema up to date and returns what was applied (empty: nothing was missing).
 * @param adminUrl a user that may create roles and a schema in this database
 * @param folder where the migrations are; this build's own unless a test says otherwise
 * @throws WaybillError `migration_failed` naming file and reason; nothing was changed then
 */
export async function migrate(
  adminUrl: string,
  folder: string = MIGRATIONS_FOLDER,
): Promise<AppliedMigration[]> {
  const client = new Client({ connectionString: adminUrl, application_name: 'waybill-migrate' });
  let current = 'bootstrap.sql';
  try {
    await client.connect();
    await client.query('begin');
    // Two migrators wait for each other instead of failing; the lock ends with the transaction.
    await client.query(`select pg_advisory_xact_lock(hashtextextended('waybill.migrations', 0))`);
    await client.query(await readFile(path.join(folder, current), 'utf8'));
    await client.query('set local role waybill_owner');
    const runner = new Postgrator({
      driver: 'pg',
      migrationPattern: path.join(folder, '*.do.*.sql'),
      schemaTable: LEDGER,
      execQuery: (query: string) => client.query(query),
    });
    const begin = (step: { readonly filename: string }) => {
      current = path.basename(step.filename);
    };
    runner.on('validation-started', begin);
    runner.on('migration-started', begin);
    const applied = await runner.migrate();
    await client.query('commit');
    return applied.map((step) => ({ version: step.version, name: step.name }));
  } catch (error) {
    const known = asDomainError(error);
    if (known instanceof WaybillError) throw known;
    const reason = error instanceof Error ? error.message : String(error);
    throw new WaybillError('migration_failed', `${current}: ${reason}`, { cause: error });
  } finally {
    await client.end();
  }
}

/**
 * Refuses to go on with a schema that this build does not know, or as a role that row-level security
 * does not bind.
 * @throws WaybillError `schema_unsupported`, `role_too_powerful`, `role_wrong`,
 *   `storage_unavailable`
 */
export async function checkDatabase(db: Database, wanted: DatabaseRole): Promise<void> {
  const version = await installedVersion(db, wanted);
  if (version < SUPPORTED_SCHEMA.min || version > SUPPORTED_SCHEMA.max) {
    throw new WaybillError(
      'schema_unsupported',
      `the database has schema version ${version}, this build supports ` +
        `${SUPPORTED_SCHEMA.min} to ${SUPPORTED_SCHEMA.max}: run \`waybill migrate\` of a matching build`,
    );
  }
  const [role] = await db.query(schemaStatements.role, [wanted, DATABASE_ROLES]);
  const name = String(role?.['role']);
  if (role?.['bypassesRowSecurity'] === true) {
    throw new WaybillError(
      'role_too_powerful',
      `the role ${name} is a superuser or bypasses row-level security: ${REMEDY}`,
    );
  }
  // Row-level security is granted by role: another one would see other rows, or none.
  if (role?.['actsAsRole'] !== true) {
    throw new WaybillError(
      'role_wrong',
      `the role ${name} is not a member of ${wanted}: ${REMEDY}`,
    );
  }
  const also = role['alsoActsAs'];
  if (typeof also === 'string') {
    throw new WaybillError(
      'role_wrong',
      `the role ${name} is also a member of ${also}, and would see the rows of both: ${REMEDY}`,
    );
  }
}

async function installedVersion(db: Database, wanted: DatabaseRole): Promise<number> {
  try {
    const [row] = await db.query(schemaStatements.version, []);
    return Number(row?.['version'] ?? 0);
  } catch (error) {
    if (isMissingObject(error)) return 0;
    if (isPermissionDenied(error)) {
      const reason = error instanceof Error ? error.message : 'permission denied';
      throw new WaybillError('role_wrong', `not the login of ${wanted} (${reason}): ${REMEDY}`, {
        cause: error,
      });
    }
    throw error;
  }
}
