/** A loop that polls: never two rounds at once, never faster than asked, ends on its signal. */
import type { Logger } from 'pino';
import { Hint } from './hint';

export interface LoopOptions {
  readonly name: string;
  /** Pause after a round that found less than it could have done. */
  readonly intervalMs: number;
  /** One round; true when there is more to do at once. */
  readonly round: () => Promise<boolean>;
  readonly signal: AbortSignal;
  /** Ends a pause early. */
  readonly hint?: Hint;
  readonly log: Logger;
}

/** Runs until the signal; a round that fails is logged and tried again after a pause. */
export async function runLoop(options: LoopOptions): Promise<void> {
  const { name, intervalMs, round, signal, log, hint = new Hint() } = options;
  while (!signal.aborted) {
    let more = false;
    try {
      more = await round();
    } catch (error) {
      log.warn({ loop: name, err: error instanceof Error ? error.message : error }, 'round failed');
    }
    if (!more) await hint.wait(intervalMs, signal);
  }
}
