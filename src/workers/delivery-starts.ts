/**
 * The API's hints to Temporal: start a delivery's workflow right after its commit, nudge it right
 * after a replay. Whatever goes wrong here, the loop of a worker makes good a little later, so
 * nothing waits and nothing fails for it.
 */
import type { Logger } from 'pino';
import type { Database } from '../db/database';
import { readDeliveryFacts } from '../db/deliveries';
import { noticeExpress } from '../db/notices';
import type { DeliveryAbout, DeliveryRef } from '../domain/delivery-activities';
import type { DeliveryStarter } from '../http/deps';
import { ExpressNotices } from './express-notices';
import type { DeliveryWorkflows } from '../temporal/delivery-starter';

/** Starts under way at once; what comes on top is left to the loop. */
const MAX_PENDING = 200;

export interface DeliveryStartsOptions {
  readonly workflows: DeliveryWorkflows;
  readonly data: Database;
  readonly log: Logger;
  /** Whether the loops of the express lane listen. */
  readonly notify?: boolean;
}

export class DeliveryStarts implements DeliveryStarter {
  readonly #workflows: DeliveryWorkflows;
  readonly #data: Database;
  readonly #log: Logger;
  readonly #notices: ExpressNotices | null;
  #pending = 0;

  constructor({ workflows, data, log, notify = false }: DeliveryStartsOptions) {
    this.#notices = notify ? new ExpressNotices(() => noticeExpress(data), log) : null;
    this.#workflows = workflows;
    this.#data = data;
    this.#log = log;
  }

  express(): void {
    this.#notices?.give();
  }

  start(ref: DeliveryRef, about: DeliveryAbout): void {
    if (this.#pending >= MAX_PENDING) return;
    this.#pending += 1;
    this.#workflows
      .ensure(ref, about)
      .catch((error: unknown) => {
        this.#missed(ref, error);
      })
      .finally(() => {
        this.#pending -= 1;
      });
  }

  nudge(ref: DeliveryRef): void {
    this.#nudge(ref).catch((error: unknown) => {
      this.#missed(ref, error);
    });
  }

  async #nudge(ref: DeliveryRef): Promise<void> {
    const facts = await readDeliveryFacts(this.#data, ref);
    if (facts !== null) await this.#workflows.nudge(ref, facts);
  }

  #missed(ref: DeliveryRef, error: unknown): void {
    const err = error instanceof Error ? error.message : String(error);
    this.#log.warn({ ...ref, err }, 'Temporal was not reached; a loop goes on with it');
  }
}
