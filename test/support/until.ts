/** Waiting for what cannot announce itself: asks again until it is so, with a deadline. */
import { setTimeout as delay } from 'node:timers/promises';

/** The first answer that is not null or undefined; fails with `what` after the deadline. */
export async function until<Value>(
  what: string,
  ask: () => Promise<Value | null | undefined>,
  deadlineMs = 20_000,
): Promise<Value> {
  const started = performance.now();
  for (;;) {
    const value = await ask();
    if (value !== null && value !== undefined) return value;
    if (performance.now() - started > deadlineMs) throw new Error(`not within time: ${what}`);
    await delay(25);
  }
}
