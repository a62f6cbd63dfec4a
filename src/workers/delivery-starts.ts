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
import type { TenantId } from '../domain/ids';
import type { DeliveryStarter } from '../http/deps';
import { BackgroundStarts } from './background-starts';
import { ExpressNotices } from './express-notices';
import type { DeliveryWorkflows } from '../temporal/delivery-starter';

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
  readonly #starts: BackgroundStarts;
  readonly #notices: ExpressNotices | null;

  constructor({ workflows, data, log, notify = false }: DeliveryStartsOptions) {
    this.#notices = notify
      ? new ExpressNotices((tenants) => noticeExpress(data, tenants), log)
      : null;
    this.#workflows = workflows;
    this.#data = data;
    this.#starts = new BackgroundStarts((ref, about) => workflows.ensure(ref, about), log);
  }

  tells(): boolean {
    return this.#notices?.takesTurn() ?? false;
  }

  express(tenant: TenantId, told: boolean): void {
    if (!told) this.#notices?.give(tenant);
  }

  start(ref: DeliveryRef, about: DeliveryAbout): void {
    this.#starts.begin(ref, about);
  }

  nudge(ref: DeliveryRef): void {
    this.#nudge(ref).catch((error: unknown) => {
      this.#starts.missed(ref, error);
    });
  }

  async #nudge(ref: DeliveryRef): Promise<void> {
    const facts = await readDeliveryFacts(this.#data, ref);
    if (facts !== null) await this.#workflows.nudge(ref, facts);
  }
}
