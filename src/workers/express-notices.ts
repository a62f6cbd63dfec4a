/**
 * The API's hints to the loop of the express lane that something is there. The first one is sent at once;
 * while many come, one in a while stands for all of them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';

/** A loop that has work looks for more by itself: it needs no notice of each. */
const PAUSE_MS = 10;

export class ExpressNotices {
  readonly #notice: () => Promise<void>;
  readonly #log: Logger;
  #isSending = false;
  #isDue = false;

  /** @param notice gives one to whoever listens */
  constructor(notice: () => Promise<void>, log: Logger) {
    this.#notice = notice;
    this.#log = log;
  }

  /** Returns at once and never throws. */
  give(): void {
    this.#isDue = true;
    if (this.#isSending) return;
    this.#isSending = true;
    this.#send().catch((error: unknown) => {
      const err = error instanceof Error ? error.message : String(error);
      this.#log.warn({ err }, 'no notice was given; the loop of the express lane looks by itself');
      // One that came meanwhile was given by nobody.
      if (this.#isDue) this.give();
    });
  }

  async #send(): Promise<void> {
    try {
      while (this.#isDue) {
        this.#isDue = false;
        await this.#notice();
        await delay(PAUSE_MS);
      }
    } finally {
      // In the step that saw that nothing is due: one that comes after it is sent.
      this.#isSending = false;
    }
  }
}
