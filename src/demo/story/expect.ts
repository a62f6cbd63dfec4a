/** What a line of the story demands of the facts it looks at. */
import { setTimeout as delay } from 'node:timers/promises';

/** A fact is not as the story tells it: the line did not come out. */
export class Unexpected extends Error {}

/** @throws Unexpected unless it holds */
export function demand(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Unexpected(otherwise);
}

const POLL_MS = 100;

/**
 * Looks again and again until there is an answer.
 * @param what completes "not seen in time: …"
 * @throws Unexpected after `deadlineMs`
 */
export async function eventually<Fact>(
  what: string,
  deadlineMs: number,
  look: () => Promise<Fact | null>,
): Promise<Fact> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const fact = await look();
    if (fact !== null) return fact;
    if (performance.now() > end) throw new Unexpected(`not seen in time: ${what}`);
    await delay(POLL_MS);
  }
}
