import { setTimeout as delay } from 'node:timers/promises';

/**
 * Asks `check` every `intervalMs` until it answers true; false when `timeoutMs` passed or `signal`
 * was aborted first. Errors of `check` pass through.
 */
export async function pollUntil(
  check: () => boolean | Promise<boolean>,
  options: {
    readonly timeoutMs: number;
    readonly intervalMs: number;
    readonly signal?: AbortSignal;
  },
): Promise<boolean> {
  const deadline = performance.now() + options.timeoutMs;
  for (;;) {
    if (options.signal?.aborted === true) return false;
    if (await check()) return true;
    if (performance.now() >= deadline) return false;
    await delay(options.intervalMs);
  }
}
