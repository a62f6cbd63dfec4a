/**
 * The express lane: claims deliveries by opening their first attempts, makes those, and hands over to a
 * workflow what they did not acknowledge.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../../db/database';
import { claimExpress, expressTenants, type Claimed } from '../../db/express-deliveries';
import type { TenantId } from '../../domain/ids';
import { point } from '../../points';
import type { AttemptServices } from '../../services/attempt-services';
import { driveClaimed } from '../../services/express';
import { BackgroundStarts } from '../background-starts';
import type { Hint } from './hint';

/** Attempts of one process under way at once; as many as a worker's activities. */
const SLOTS = 100;
/** Opened in one transaction: more would keep the tenant's other attempts waiting. */
const BATCH = 32;
/** Between the starts of two rounds that find something: what comes meanwhile is claimed together. */
const SPACING_MS = 4;
/** So many rounds go to the tenants that are known to have something; the next one looks at all of them. */
const ROUNDS_OF_KNOWN = 8;
/** Statements of a round at once. */
const CLAIMS_AT_ONCE = 4;
/** What is given up still tries to write down that nobody knows what became of it. */
const CLOSING_PATIENCE_MS = 10_000;
const STARTING_PATIENCE_MS = 1_000;

export interface ExpressServices {
  readonly attempts: AttemptServices;
  /** Starts the delivery's workflow; one that runs is left alone. */
  readonly start: (ref: Claimed['ref'], about: Claimed['about']) => Promise<void>;
}

export interface ExpressOptions {
  /** Role waybill_operations. */
  readonly operations: Database;
  readonly services: ExpressServices;
  /** Who claims, for people who read an attempt's row. */
  readonly owner: string;
  /** Woken when what had no room may have some. */
  readonly hint: Hint;
  /** Nothing more is claimed after it. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

export class ExpressLane {
  readonly #options: ExpressOptions;
  readonly #underWay = new Set<Promise<void>>();
  /** They hold no slot: while Temporal is away the attempts go on. */
  readonly #starts: BackgroundStarts;
  readonly #stopping = new AbortController();
  /** Behind which tenant the next round goes on. */
  #after = '';
  /** Tenants of which something waits for room, or may: their claim is under way. */
  readonly #crowded = new Set<TenantId>();
  /** Tenants that somebody told of, or that had something in the last round. */
  readonly #known = new Set<TenantId>();
  /** Rounds since the last look at all of them. */
  #ofKnown = 0;

  constructor(options: ExpressOptions) {
    this.#options = options;
    setMaxListeners(0, this.#stopping.signal);
    const { services, log } = options;
    this.#starts = new BackgroundStarts(async (ref, about) => {
      await services.start(ref, about);
      await point('express.started');
    }, log);
  }

  /** Something of the tenant waits, or of nobody knows whom; ends the loop's pause. */
  notice(tenant: TenantId | null): void {
    if (tenant !== null && this.#known.size < SLOTS) this.#known.add(tenant);
    this.#options.hint.wake();
  }

  /** Claims what there is a slot for, each tenant an equal share; true when it found some. */
  async round(): Promise<boolean> {
    const { signal } = this.#options;
    const free = SLOTS - this.#underWay.size;
    if (free === 0) return false;
    const nextAt = performance.now() + SPACING_MS;
    const tenants = await this.#tenants(free);
    const share = Math.min(BATCH, Math.floor(free / Math.max(1, tenants.length)));
    let found = 0;
    for (let at = 0; at < tenants.length && !signal.aborted; at += CLAIMS_AT_ONCE) {
      const some = tenants.slice(at, at + CLAIMS_AT_ONCE);
      const counts = await Promise.all(some.map((tenant) => this.#claim(tenant, share)));
      found += counts.reduce((sum, count) => sum + count, 0);
    }
    const early = nextAt - performance.now();
    if (found > 0 && early > 0) await delay(early, undefined, { signal }).catch(() => undefined);
    return found > 0;
  }

  /**
   * Lets what is under way end, and gives up its calls after so long; they are unknown then. What ends
   * neither way soon after that is left to the loop of workflows.
   */
  async drain(graceMs: number): Promise<void> {
    const giveUp = setTimeout(() => {
      this.#stopping.abort();
    }, graceMs);
    await allWithin(this.#underWay, graceMs + CLOSING_PATIENCE_MS);
    clearTimeout(giveUp);
    await allWithin(this.#starts.pending, STARTING_PATIENCE_MS);
  }

  /**
   * Those that are known to have something, without a look at the others; now and then all of them are looked
   * at, so that a notice that was lost costs some rounds.
   */
  async #tenants(limit: number): Promise<TenantId[]> {
    this.#ofKnown = this.#known.size > 0 ? (this.#ofKnown + 1) % (ROUNDS_OF_KNOWN + 1) : 0;
    // Who has waited longest is first: what has more is known again behind the others.
    const served = this.#ofKnown > 0 ? [...this.#known].slice(0, limit) : await this.#look(limit);
    for (const tenant of served) this.#known.delete(tenant);
    return served;
  }

  async #look(limit: number): Promise<TenantId[]> {
    const tenants = await expressTenants(this.#options.operations, this.#after, limit);
    this.#after = tenants.length < limit ? '' : (tenants.at(-1) ?? '');
    return tenants;
  }

  async #claim(tenant: TenantId, limit: number): Promise<number> {
    const { services, owner, log } = this.#options;
    const found = { crowded: false };
    // Until it is known: an attempt that ends meanwhile may make room that this claim does not see.
    this.#crowded.add(tenant);
    try {
      const onBroken = (deliveryId: string, error: unknown) => {
        const err = String(error);
        log.warn({ tenant, deliveryId, err }, 'an express delivery could not be claimed');
      };
      const onCrowded = (): void => void (found.crowded = true);
      const claim = { owner, limit, onBroken, onCrowded };
      const claimed = await claimExpress(services.attempts.data, tenant, claim);
      if (claimed.length > 0) {
        this.#known.add(tenant);
        await point('express.claimed');
      }
      for (const one of claimed) this.#drive(one);
      return claimed.length;
    } catch (error) {
      log.warn({ tenant, err: String(error) }, 'express deliveries could not be claimed');
      return 0;
    } finally {
      if (found.crowded) this.#crowded.add(tenant);
      else this.#crowded.delete(tenant);
    }
  }

  #drive(claimed: Claimed): void {
    const { services, hint, log } = this.#options;
    const driving = driveClaimed(services.attempts, claimed, this.#stopping.signal)
      .then((end) => {
        if (end === 'for_workflow') this.#starts.begin(claimed.ref, claimed.about);
      })
      .catch((error: unknown) => {
        const err = String(error);
        log.warn({ ...claimed.ref, err }, 'an express delivery is left to the loop of workflows');
      })
      .then(() => {
        const wasFull = this.#underWay.size === SLOTS;
        this.#underWay.delete(driving);
        const hasRoom = this.#crowded.delete(claimed.ref.tenantId);
        if (hasRoom) this.#known.add(claimed.ref.tenantId);
        if (wasFull || hasRoom) hint.wake();
      });
    this.#underWay.add(driving);
  }
}

async function allWithin(work: ReadonlySet<Promise<void>>, ms: number): Promise<void> {
  const ended = new AbortController();
  const late = delay(ms, undefined, { signal: ended.signal }).catch(() => undefined);
  await Promise.race([Promise.all(work), late]);
  ended.abort();
}
