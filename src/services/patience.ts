/** Writing what is known although Postgres is away for a moment. */
import { setTimeout as delay } from 'node:timers/promises';
import { WaybillError } from '../domain/errors';

/** The deadline of whatever is closed is later. */
const PATIENCE_MS = 8_000;

/**
 * The target or host has been called: giving up at the first failure would turn a known answer into an
 * unknown one. `work` is idempotent, so it may be tried again.
 */
export async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  const started = performance.now();
  for (let pause = 100; ; pause = Math.min(pause * 2, 1_000)) {
    try {
      return await work();
    } catch (error) {
      const passing = error instanceof WaybillError && error.code === 'storage_unavailable';
      if (!passing || performance.now() - started > PATIENCE_MS) throw error;
      await delay(pause);
    }
  }
}
