/**
 * Connections to Postgres: one pool for one role, bounded in size and time.
 *
 * A pool is either given the URL of a login role, or an administrator's URL and the role to become:
 * then every connection starts as that role (a start-up parameter), so that row-level security
 * holds for it. No statement ever runs with the administrator's own rights through a pool.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool, TypeOverrides } from 'pg';
import type { PoolClient, QueryResult } from 'pg';
import { WaybillError } from '../domain/errors';
import { asDomainError, isRetriedConflict } from './sqlstates';

export const DATABASE_ROLES = [
  ...(['waybill_owner', 'waybill_control', 'waybill_data'] as const),
  ...(['waybill_lifecycle', 'waybill_operations', 'waybill_observer'] as const),
] as const;
export type DatabaseRole = (typeof DATABASE_ROLES)[number];

export interface DatabaseOptions {
  readonly url: string;
  /** The role to become; null when the URL's own user is that role. */
  readonly role: DatabaseRole | null;
  readonly maxConnections: number;
  readonly statementTimeoutMs: number;
  readonly applicationName: string;
  /** `off` for a pooler in transaction mode: no named statement is ever left on a connection. */
  readonly preparedStatements: 'on' | 'off';
  /** Told of connections that break while idle; the pool replaces them. */
  readonly onIdleError: (error: Error) => void;
}

/** A statement with the name under which it is prepared. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

export type Row = Readonly<Record<string, unknown>>;

/** Attempts of one transaction that keeps losing against others. */
const CONFLICT_ATTEMPTS = 5;

const LOCK_TIMEOUT_MS = 5_000;
const IDLE_IN_TRANSACTION_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;

export class Database {
  readonly #pool: Pool;
  readonly #prepared: boolean;

  constructor(options: DatabaseOptions) {
    this.#prepared = options.preparedStatements === 'on';
    this.#pool = new Pool({
      ...connection(options),
      max: options.maxConnections,
      application_name: options.applicationName,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: options.statementTimeoutMs,
      lock_timeout: LOCK_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
      keepAlive: true,
      types: exactTypes(),
    });
    this.#pool.on('error', options.onIdleError);
  }

  /**
   * Runs one statement in a transaction of its own. A conflict with another transaction (deadlock,
   * serialization) is retried a bounded number of times.
   * @throws WaybillError `storage_unavailable` when Postgres cannot serve now
   */
  async query(statement: Statement, values: readonly unknown[]): Promise<Row[]> {
    return this.#withRetry(
      async () => (await this.#run(this.#pool, statement, values)).rows as Row[],
    );
  }

  /**
   * Runs several statements in one transaction, on one connection. The work may run again from its
   * start after a conflict, so it must have no effect outside the transaction.
   */
  async transaction<Result>(work: (run: Run) => Promise<Result>): Promise<Result> {
    return this.#inTransaction('begin', work);
  }

  /** Several reads of one instant: all of them see the database as it was at the first one. */
  async snapshot<Result>(work: (run: Run) => Promise<Result>): Promise<Result> {
    return this.#inTransaction('begin isolation level repeatable read, read only', work);
  }

  async #inTransaction<Result>(
    begin: string,
    work: (run: Run) => Promise<Result>,
  ): Promise<Result> {
    return this.#withRetry(async () => {
      const client = await this.#pool.connect();
      let broken: Error | undefined;
      // The pool listens only while a connection is idle: one that breaks between two statements
      // would otherwise end the process.
      const onError = (error: Error) => {
        broken = error;
      };
      client.on('error', onError);
      try {
        await client.query(begin);
        const result = await work(
          async (statement, values) => (await this.#run(client, statement, values)).rows as Row[],
        );
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch((failure: unknown) => {
          broken = failure instanceof Error ? failure : new Error(String(failure));
        });
        throw error;
      } finally {
        client.off('error', onError);
        client.release(broken);
      }
    });
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  #run(
    on: Pool | PoolClient,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<QueryResult> {
    return on.query({
      text: statement.text,
      values: [...values],
      ...(this.#prepared ? { name: statement.name } : {}),
    });
  }

  async #withRetry<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        if (!isRetriedConflict(error) || attempt === CONFLICT_ATTEMPTS) throw asDomainError(error);
        await delay(attempt * 5);
      }
    }
  }
}

export type Run = (statement: Statement, values: readonly unknown[]) => Promise<Row[]>;

/** The first row of an answer that always has one. */
export function onlyRow(rows: readonly Row[]): Row {
  const row = rows[0];
  if (row === undefined) throw new WaybillError('internal', 'a statement answered no row');
  return row;
}

/**
 * URL and start-up options. What a URL says wins over everything else in the driver, so options that
 * it brings are taken out and joined with the role: the role always comes last and holds.
 */
export function connection(options: Pick<DatabaseOptions, 'url' | 'role'>): {
  connectionString: string;
  options?: string;
} {
  const url = new URL(options.url);
  const given = url.searchParams.get('options');
  url.searchParams.delete('options');
  const role = options.role === null ? null : `-c role=${options.role}`;
  const all = [given, role].filter((part) => part !== null).join(' ');
  return { connectionString: url.toString(), ...(all === '' ? {} : { options: all }) };
}

const INT8_OID = 20;

/** int8 arrives as text; it is read once, here, and refused beyond what a number holds exactly. */
function exactTypes(): TypeOverrides {
  const types = new TypeOverrides();
  types.setTypeParser(INT8_OID, (text: string): number => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new WaybillError('internal', 'an int8 is out of range');
    return value;
  });
  return types;
}
