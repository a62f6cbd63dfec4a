/** Ends a loop's pause early; a hint that nobody waits for counts for the next pause. */

export class Hint {
  #given = false;
  #wake: (() => void) | null = null;

  wake(): void {
    this.#given = true;
    this.#wake?.();
  }

  /** Resolves at the next hint, after so long, or at the signal. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#given && !signal.aborted) await this.#pause(ms, signal);
    this.#given = false;
  }

  /** The signal lasts as long as the process, and a pause leaves nothing with it. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const over = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', over);
        this.#wake = null;
        resolve();
      };
      const timer = setTimeout(over, ms);
      signal.addEventListener('abort', over);
      this.#wake = over;
    });
  }
}
