/**
 * The API's hints to the loop of the express lane that something is there. The first one is sent at once;
 * while many come, one in a while stands for all of them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../db/database';
import { noticeExpress } from '../db/notices';

/** A loop that has work looks for more by itself: it needs no notice of each. */
const PAUSE_MS = 10;

export class ExpressNotices {
  readonly #data: Database;
  readonly #log: Logger;
  #isSending = false;
  #isDue = false;

  constructor(data: Database, log: Logger) {
    this.#data = data;
    this.#log = log;
  }

  /** Returns at once and never throws. */
  give(): void {
    this.#isDue = true;
    if (this.#isSending) return;
    this.#isSending = true;
    this.#send()
      .catch((error: unknown) => {
        const err = error instanceof Error ? error.message : String(error);
        this.#log.warn(
          { err },
          'no notice was given; the loop of the express lane looks by itself',
        );
      })
      .finally(() => {
        this.#isSending = false;
      });
  }

  async #send(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      await noticeExpress(this.#data);
      await delay(PAUSE_MS);
    }
  }
}
