/** Ends a loop's pause early; a hint that nobody waits for counts for the next pause. */
import { setTimeout as delay } from 'node:timers/promises';

export class Hint {
  #given = false;
  #wake: (() => void) | null = null;

  wake(): void {
    this.#given = true;
    this.#wake?.();
  }

  /** Resolves at the next hint, after so long, or at the signal. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#given) {
      const ended = new AbortController();
      const given = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const over = delay(ms, undefined, { signal: AbortSignal.any([signal, ended.signal]) });
      await Promise.race([given, over.catch(() => undefined)]);
      this.#wake = null;
      ended.abort();
    }
    this.#given = false;
  }
}
