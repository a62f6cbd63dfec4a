/**
 * The databases of a run, on a server of its own: one of Waybill, where registry and runtime belong to
 * different roles, and one of the controlled provider. Nobody but the owner of a database may connect to it.
 */
import { Database, type Statement } from '../../db/database';
import type { SiteKeys } from './keys';
import { LOGINS, type LoginName } from './topology';

export const MAIN_DATABASE = 'waybill';
export const PROVIDER_DATABASE = 'provider';

/** Reads everything of everybody and can write nothing: what verdicts are taken with. */
const JUDGE = 'qualification_judge';

export interface DatabaseUrls {
  readonly login: (name: LoginName) => string;
  readonly provider: string;
  readonly judge: (database: typeof MAIN_DATABASE | typeof PROVIDER_DATABASE) => string;
  /** For migrations alone. */
  readonly migrator: string;
}

/** @param serverUrl of the superuser, for the database `postgres` */
export function databaseUrls(serverUrl: string, { passwords }: SiteKeys): DatabaseUrls {
  const at = (user: string, password: string, database: string): string => {
    const url = new URL(serverUrl);
    url.username = user;
    url.password = password;
    url.pathname = `/${database}`;
    return url.toString();
  };
  const { username, password } = new URL(serverUrl);
  return {
    login: (name) => at(loginOf(name), passwords[name], MAIN_DATABASE),
    provider: at('provider', passwords.provider, PROVIDER_DATABASE),
    judge: (database) => at(JUDGE, passwords.judge, database),
    migrator: at(username, password, MAIN_DATABASE),
  };
}

export function loginOf(name: LoginName): string {
  return `${name.replaceAll('-', '_')}_login`;
}

/** Makes both, empty, with the provider's login. */
export async function createDatabases(serverUrl: string, { passwords }: SiteKeys): Promise<void> {
  await asAdmin(serverUrl, [
    `create role provider login nosuperuser nobypassrls password '${passwords.provider}'`,
    `create database ${MAIN_DATABASE}`,
    `create database ${PROVIDER_DATABASE} owner provider`,
    ...['postgres', 'template1', MAIN_DATABASE, PROVIDER_DATABASE].map(
      (database) => `revoke connect, temporary on database ${database} from public`,
    ),
  ]);
}

/** Makes the logins of Waybill and of the judge; the roles are there once the schema is. */
export async function createLogins(serverUrl: string, { passwords }: SiteKeys): Promise<void> {
  const logins = Object.entries(LOGINS) as [LoginName, string][];
  await asAdmin(serverUrl, [
    ...logins.flatMap(([name, role]) => [
      `create role ${loginOf(name)} login nosuperuser nobypassrls in role ${role} password '${passwords[name]}'`,
      `grant connect on database ${MAIN_DATABASE} to ${loginOf(name)}`,
    ]),
    `create role ${JUDGE} login nosuperuser bypassrls in role pg_read_all_data password '${passwords.judge}'`,
    `alter role ${JUDGE} set default_transaction_read_only = on`,
    `grant connect on database ${MAIN_DATABASE}, ${PROVIDER_DATABASE} to ${JUDGE}`,
  ]);
}

/** A pool of few connections that may break and be replaced, as the user of the URL. */
export function poolOf(url: string, applicationName: string, maxConnections = 2): Database {
  return new Database({
    ...{ url, role: null, maxConnections, applicationName, statementTimeoutMs: 10_000 },
    preparedStatements: 'off',
    onIdleError: () => undefined,
  });
}

/** Whether storing a delivery fails as it does without room on the disk; read by a trigger of the run's own. */
export async function fillDisk(migratorUrl: string, full: boolean): Promise<void> {
  await asAdmin(
    migratorUrl,
    full
      ? [
          `create function public.no_room() returns trigger language plpgsql as
            $$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$`,
          `create trigger qualification_no_room before insert on waybill.deliveries
            for each statement execute function public.no_room()`,
        ]
      : [
          'drop trigger qualification_no_room on waybill.deliveries',
          'drop function public.no_room()',
        ],
  );
}

async function asAdmin(url: string, texts: readonly string[]): Promise<void> {
  const admin = poolOf(url, 'waybill-qualify-admin', 1);
  try {
    for (const text of texts) {
      const statement: Statement = { name: 'qualification_admin', text };
      await admin.query(statement, []);
    }
  } finally {
    await admin.close();
  }
}
