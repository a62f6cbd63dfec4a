/**
 * SQLite for the host kit and the controlled provider. Node's own where Node has one; on the Nodes that
 * have none libsql, whose packages bring it ready built.
 */
import { createRequire } from 'node:module';
import type Libsql from 'libsql';
import { z } from 'zod';

/** Integers up to 2^53 are kept exactly. */
type SqliteValue = string | number | null;
/** For `?` one after the other, or once an object with the names after `@`. */
type SqliteParameter = SqliteValue | Readonly<Record<string, SqliteValue>>;

export interface SqliteStatement {
  run(...parameters: SqliteParameter[]): { readonly changes: number };
  /** The first row, undefined where there is none. */
  get(...parameters: SqliteParameter[]): unknown;
  all(...parameters: SqliteParameter[]): unknown[];
}

export interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): SqliteStatement;
  /** Runs `work` in a transaction that may write from its start; rolls back what throws. */
  immediate<Answer>(work: () => Answer): Answer;
  /** Closing what is closed does nothing. */
  close(): void;
}

/** What both engines have, as far as it is the same. */
interface Engine {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}
interface OwnSqlite {
  readonly DatabaseSync: new (file: string) => Engine;
}

/**
 * Opens `file`, and makes it where there is none. Foreign keys are enforced. A statement waits up to
 * `busyTimeoutMs` for another connection and then throws an error for which `isBusy` holds.
 */
export function openSqlite(
  file: string,
  { busyTimeoutMs }: { readonly busyTimeoutMs: number },
): SqliteDatabase {
  const engine = openEngine(file);
  engine.exec(`pragma busy_timeout = ${String(busyTimeoutMs)}; pragma foreign_keys = on`);
  let open = true;
  return {
    exec: (sql) => void engine.exec(sql),
    prepare: (sql) => engine.prepare(sql),
    immediate: (work) => {
      engine.exec('begin immediate');
      try {
        const answer = work();
        engine.exec('commit');
        return answer;
      } catch (error) {
        rollBack(engine);
        throw error;
      }
    },
    close: () => {
      if (open) engine.close();
      open = false;
    },
  };
}

/** Whether another connection holds what was needed: SQLITE_BUSY or SQLITE_LOCKED. */
export function isBusy(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  // Extended codes have the plain one in their lowest byte.
  if ('errcode' in error) return [5, 6].includes(Number(error.errcode) & 0xff);
  return 'code' in error && /^SQLITE_(BUSY|LOCKED)/.test(String(error.code));
}

function openEngine(file: string): Engine {
  const own = process.getBuiltinModule('node:sqlite') as OwnSqlite | undefined;
  if (own !== undefined) return new own.DatabaseSync(file);
  // Only now: where Node has its own, nothing else need be there.
  const Other = createRequire(__filename)('libsql') as typeof Libsql;
  const db: Engine = new Other(file);
  return {
    exec: (sql) => db.exec(sql),
    prepare: (sql) => withPlainRows(db.prepare(sql)),
    close: () => {
      free(db);
      db.close();
    },
  };
}

/**
 * Its statements keep the connection of libsql until they are collected; whoever had the file alone must
 * leave it at once. One that entered WAL alone stays alone until it has left it.
 */
function free(db: Engine): void {
  const { locking_mode } = z
    .object({ locking_mode: z.string() })
    .parse(db.prepare('pragma locking_mode').get());
  if (locking_mode !== 'exclusive') return;
  db.prepare('pragma journal_mode = delete').get();
  db.prepare('pragma locking_mode = normal').get();
  db.prepare('select count(*) from sqlite_schema').get();
}

/** libsql adds to a single row how long it took. */
function withPlainRows(statement: SqliteStatement): SqliteStatement {
  return {
    run: (...parameters) => statement.run(...parameters),
    get: (...parameters) => {
      const row = statement.get(...parameters);
      if (typeof row === 'object' && row !== null) Reflect.deleteProperty(row, '_metadata');
      return row;
    },
    all: (...parameters) => statement.all(...parameters),
  };
}

function rollBack(engine: Engine): void {
  try {
    engine.exec('rollback');
  } catch {
    // SQLite has rolled back by itself, for instance on a full disk; the first error says why.
  }
}
