/**
 * Pairs of a reservation and a settlement, as workers make them: each sender reserves one action and
 * settles another one, which was reserved in the run before and sent meanwhile.
 */
import { Answers, takenPerSecond } from '../ledger';
import { inClosedLoop } from '../senders';
import { sendActions, startActions } from './actions';
import type { Ask, Hands, Held } from './hands';
import type { Site } from './shapes';

export interface CourseOptions {
  readonly site: Site;
  /** Of its actions' ids. */
  readonly name: string;
  readonly hands: Hands;
  readonly signal: AbortSignal;
  /** The nth action's tenant and capability; spread evenly over the site where absent. */
  readonly place?: (nth: number) => Pick<Ask, 'tenantId' | 'capabilityId'>;
}

export class PairCourse {
  readonly reserves = new Answers();
  readonly closes = new Answers();
  /** Of whole pairs. */
  readonly pairMs: number[] = [];
  readonly #options: CourseOptions;
  readonly #place: NonNullable<CourseOptions['place']>;
  #open: readonly Held[] = [];
  #started = 0;

  constructor(options: CourseOptions) {
    this.#options = options;
    this.#place = options.place ?? evenly(options.site);
  }

  /** Attempts that the next run settles. */
  get open(): number {
    return this.#open.length;
  }

  /** Share of the answers of both kinds that were what was asked for. */
  get success(): number {
    return Math.min(this.reserves.success, this.closes.success);
  }

  /** The first run, which has nothing to settle; until all runs are of one length. */
  async begin(pairs: number): Promise<void> {
    await this.#run(pairs);
    await this.pairsPerSecond(pairs);
    await this.pairsPerSecond(pairs);
    this.pairMs.length = 0;
  }

  async pairsPerSecond(pairs: number): Promise<number> {
    return await takenPerSecond(this.closes, () => this.#run(pairs));
  }

  async #run(pairs: number): Promise<number> {
    const { site, hands, signal } = this.#options;
    const asks = this.#asks(pairs);
    await startActions(site, asks);
    await hands.prepare?.(asks);
    const taken: Held[] = [];
    const open = this.#open.values();
    const elapsedMs = await inClosedLoop(asks, signal, async (ask) => {
      const startedAtMs = performance.now();
      const held = await this.#reserve(ask);
      if (held !== null) taken.push(held);
      const next = open.next();
      if (next.done === true) return;
      await this.#close(next.value);
      this.pairMs.push(performance.now() - startedAtMs);
    });
    await sendActions(site, taken);
    this.#open = taken;
    return elapsedMs;
  }

  #asks(count: number): readonly Ask[] {
    return Array.from({ length: count }, () => {
      const nth = this.#started;
      this.#started += 1;
      const actionId = `${this.#options.name}-${String(nth).padStart(8, '0')}`;
      return { actionId, nth, ...this.#place(nth) };
    });
  }

  async #reserve(ask: Ask): Promise<Held | null> {
    this.reserves.sent += 1;
    const startedAtMs = performance.now();
    const held = await this.#options.hands.reserve(ask);
    const refused = typeof held === 'string';
    this.reserves.note(refused ? held : 'accepted', performance.now() - startedAtMs);
    return refused ? null : held;
  }

  async #close(held: Held): Promise<void> {
    this.closes.sent += 1;
    const startedAtMs = performance.now();
    const kind = await this.#options.hands.close(held);
    this.closes.note(kind === 'closed' ? 'accepted' : kind, performance.now() - startedAtMs);
  }
}

/** One after the other is another tenant's and another capability. */
function evenly({ shape }: Site): NonNullable<CourseOptions['place']> {
  return (nth) => ({
    tenantId: `t${(nth * 7_919) % shape.tenants}`,
    capabilityId: `c${(nth * 31) % shape.capabilities}`,
  });
}
