/**
 * The database's clock for what this process signs: read now and then, and carried on by the
 * monotonic clock in between, so that nothing depends on the clock of a worker's machine.
 */
import { databaseNowMs } from '../db/clock';
import type { Database } from '../db/database';

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
