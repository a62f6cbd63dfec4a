/**
 * The database's clock for what this process signs: read now and then, and carried on by the
 * monotonic clock in between, so that nothing depends on the clock of a worker's machine.
 */
import type { Logger } from 'pino';
import { databaseNowMs } from '../db/clock';
import type { Database } from '../db/database';
import type { Closers } from './closers';

export const CLOCK_INTERVAL_MS = 30_000;

export class DatabaseClock {
  readonly #database: Database;
  #readMs: number;
  #atMs: number;

  private constructor(database: Database, readMs: number, atMs: number) {
    this.#database = database;
    this.#readMs = readMs;
    this.#atMs = atMs;
  }

  static async read(database: Database): Promise<DatabaseClock> {
    const atMs = performance.now();
    return new DatabaseClock(database, await databaseNowMs(database), atMs);
  }

  /** Milliseconds since the epoch. */
  nowMs(): number {
    return Math.round(this.#readMs + performance.now() - this.#atMs);
  }

  async refresh(): Promise<void> {
    const atMs = performance.now();
    this.#readMs = await databaseNowMs(this.#database);
    this.#atMs = atMs;
  }
}

/** One that is read now and then until `closers` end; while the database is away it goes on by itself. */
export async function keptClock(
  database: Database,
  closers: Closers,
  log: Logger,
): Promise<DatabaseClock> {
  const clock = await DatabaseClock.read(database);
  const timer = setInterval(() => {
    clock.refresh().catch((error: unknown) => {
      log.warn({ err: String(error) }, "the database's clock could not be read");
    });
  }, CLOCK_INTERVAL_MS);
  closers.add(() => {
    clearInterval(timer);
  });
  return clock;
}
