/**
 * Starting the workflows of deliveries in the background: hints, each of which a loop makes good a little
 * later where it fails, so nothing waits and nothing fails for it.
 */
import type { Logger } from 'pino';
import type { DeliveryAbout, DeliveryRef } from '../domain/delivery-activities';

/** Under way at once; what comes on top is left to the loop. */
const MAX_PENDING = 200;

export class BackgroundStarts {
  readonly #start: (ref: DeliveryRef, about: DeliveryAbout) => Promise<void>;
  readonly #log: Logger;
  readonly #pending = new Set<Promise<void>>();

  constructor(start: (ref: DeliveryRef, about: DeliveryAbout) => Promise<void>, log: Logger) {
    this.#start = start;
    this.#log = log;
  }

  /** Those under way. */
  get pending(): ReadonlySet<Promise<void>> {
    return this.#pending;
  }

  /** Returns at once and never throws. */
  begin(ref: DeliveryRef, about: DeliveryAbout): void {
    if (this.#pending.size >= MAX_PENDING) return;
    const starting = this.#start(ref, about)
      .catch((error: unknown) => {
        this.missed(ref, error);
      })
      .then(() => {
        this.#pending.delete(starting);
      });
    this.#pending.add(starting);
  }

  /** Notes a hint that was not given. */
  missed(ref: DeliveryRef, error: unknown): void {
    const err = error instanceof Error ? error.message : String(error);
    this.#log.warn({ ...ref, err }, 'Temporal was not reached; a loop goes on with it');
  }
}
