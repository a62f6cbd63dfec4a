/**
 * The API's hints to the loop of the express lane that something is there. The first one is sent at once;
 * while many come, one in a while stands for all of them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TenantId } from '../domain/ids';

/** A loop that has work looks for more by itself: it needs no notice of each. */
const PAUSE_MS = 5;

export class ExpressNotices {
  readonly #notice: (tenants: readonly TenantId[]) => Promise<void>;
  readonly #log: Logger;
  readonly #due = new Set<TenantId>();
  #isPaced = false;

  /** @param notice tells whoever listens of tenants */
  constructor(notice: (tenants: readonly TenantId[]) => Promise<void>, log: Logger) {
    this.#notice = notice;
    this.#log = log;
  }

  /** Whether somebody else may give the next one: where none was given this moment. It is theirs then. */
  takesTurn(): boolean {
    if (this.#isPaced) return false;
    this.#pace();
    return true;
  }

  /** Returns at once and never throws. */
  give(tenant: TenantId): void {
    this.#due.add(tenant);
    if (!this.#isPaced) this.#pace();
  }

  #pace(): void {
    this.#isPaced = true;
    this.#send().catch((error: unknown) => {
      const err = error instanceof Error ? error.message : String(error);
      this.#log.warn({ err }, 'no notice was given; the loop of the express lane looks by itself');
      // One that came meanwhile was given by nobody.
      const [next] = this.#due;
      if (next !== undefined) this.give(next);
    });
  }

  async #send(): Promise<void> {
    try {
      do {
        const tenants = [...this.#due];
        this.#due.clear();
        if (tenants.length > 0) await this.#notice(tenants);
        await delay(PAUSE_MS);
      } while (this.#due.size > 0);
    } finally {
      // In the step that saw that nothing is due: one that comes after it is sent.
      this.#isPaced = false;
    }
  }
}
