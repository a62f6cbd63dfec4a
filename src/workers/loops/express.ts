/**
 * The express lane: claims deliveries by opening their first attempts, makes those, and hands over to a
 * workflow what they did not acknowledge.
 */
import type { Logger } from 'pino';
import type { Database } from '../../db/database';
import { claimExpress, expressTenants, type Claimed } from '../../db/express-deliveries';
import type { TenantId } from '../../domain/ids';
import { point } from '../../points';
import { driveClaimed, type ExpressServices } from '../../services/express';
import type { Hint } from './hint';

/** Attempts of one process under way at once; as many as a worker's activities. */
const SLOTS = 100;
/** Opened in one transaction: more would keep the tenant's other attempts waiting. */
const BATCH = 32;
/** Statements of a round at once. */
const CLAIMS_AT_ONCE = 4;

export interface ExpressOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly services: ExpressServices;
  /** Who claims, for people who read an attempt's row. */
  readonly owner: string;
  /** Woken when what had no room may have some. */
  readonly hint: Hint;
  readonly log: Logger;
}

export class ExpressLane {
  readonly #options: ExpressOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** Behind which tenant the next round goes on. */
  #after = '';
  /** Something went on waiting after the last round. */
  #waiting = false;

  constructor(options: ExpressOptions) {
    this.#options = options;
  }

  /** Claims what there is a slot for, each tenant an equal share; true when it found some. */
  async round(): Promise<boolean> {
    const free = SLOTS - this.#underWay.size;
    if (free === 0) return false;
    const tenants = await expressTenants(this.#options.operations, this.#after, free);
    this.#after = tenants.length < free ? '' : (tenants.at(-1) ?? '');
    this.#waiting = tenants.length > 0;
    const share = Math.min(BATCH, Math.floor(free / Math.max(1, tenants.length)));
    let found = 0;
    for (let at = 0; at < tenants.length; at += CLAIMS_AT_ONCE) {
      const some = tenants.slice(at, at + CLAIMS_AT_ONCE);
      const counts = await Promise.all(some.map((tenant) => this.#claim(tenant, share)));
      found += counts.reduce((sum, count) => sum + count, 0);
    }
    return found > 0;
  }

  /** Lets what is under way end, and gives up its calls after so long; they are unknown then. */
  async drain(graceMs: number): Promise<void> {
    const giveUp = setTimeout(() => {
      this.#stopping.abort();
    }, graceMs);
    await Promise.all(this.#underWay);
    clearTimeout(giveUp);
  }

  async #claim(tenant: TenantId, limit: number): Promise<number> {
    const { services, owner, log } = this.#options;
    try {
      const onBroken = (deliveryId: string, error: unknown) => {
        const err = String(error);
        log.warn({ tenant, deliveryId, err }, 'an express delivery could not be claimed');
      };
      const claim = { owner, limit, onBroken };
      const claimed = await claimExpress(services.attempts.data, tenant, claim);
      if (claimed.length > 0) await point('express.claimed');
      for (const one of claimed) this.#drive(one);
      return claimed.length;
    } catch (error) {
      log.warn({ tenant, err: String(error) }, 'express deliveries could not be claimed');
      return 0;
    }
  }

  #drive(claimed: Claimed): void {
    const { services, hint, log } = this.#options;
    const driving = driveClaimed(services, claimed, this.#stopping.signal)
      .catch((error: unknown) => {
        const err = String(error);
        log.warn({ ...claimed.ref, err }, 'an express delivery is left to the loop of workflows');
      })
      .then(() => {
        const wasFull = this.#underWay.size === SLOTS;
        this.#underWay.delete(driving);
        if (wasFull || this.#waiting) hint.wake();
      });
    this.#underWay.add(driving);
  }
}
