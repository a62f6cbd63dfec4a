/** Workers' lives of an action, good and bad: each reserves, some again, and most settle. */
import { actionLedger } from '../../../src/db/actions';
import {
  beginDispatch,
  beginFencing,
  closeDispatch,
  type DispatchClose,
} from '../../../src/db/action-steps';
import type { Database } from '../../../src/db/database';
import { actionTargetResolver } from '../../../src/db/routes';
import { tenantId } from '../../../src/domain/ids';
import { ANYWHERE, CLOSE, requestOf, reserveRequestOf, resultOf } from '../hands';
import { anyReceipt, readySigner } from '../receipts';
import { pause } from './hosts';
import type { Tally } from './tally';

/** Left to the sweep, which looks more often than that. */
const SHORT_HOLD_MS = 300;
const HOLD_MS = 5_000;
const MAX_PAUSE_MS = 100;
const MAX_ASKS = 50;

const NOT_STARTED: DispatchClose = {
  ...CLOSE,
  settlement: 'not_started',
  result: null,
  evidence: { answer: 'not_sent' },
};

export interface CallerOptions {
  /** Role waybill_data. */
  readonly db: Database;
  readonly tenant: string;
  readonly capabilityOf: (nth: number) => string;
  readonly tally: Tally;
}

/** One action after the other, each numbered anew by `next`, until the signal. */
export async function playCaller(
  options: CallerOptions,
  next: () => number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await new Life(options, next(), signal).live();
    } catch (error) {
      options.tally.fail(error);
    }
  }
}

class Life {
  readonly #options: CallerOptions;
  readonly #nth: number;
  readonly #signal: AbortSignal;
  readonly #action;
  readonly #routes;

  constructor(options: CallerOptions, nth: number, signal: AbortSignal) {
    this.#options = options;
    this.#nth = nth;
    this.#signal = signal;
    this.#action = { tenantId: tenantId(options.tenant), actionId: `mixed-${nth}` };
    this.#routes = actionTargetResolver(options.db, ANYWHERE);
  }

  async live(): Promise<void> {
    await actionLedger(this.#options.db).startAction({
      ...this.#action,
      capabilityId: this.#options.capabilityOf(this.#nth),
      request: Buffer.from(requestOf(this.#action.actionId)),
      ...{ affinityKey: null, requestedBy: 'bench', deadlineMs: 600_000, retryBudget: 5 },
      attendAfterMs: 600_000,
    });
    switch (this.#nth % 8) {
      case 4:
      case 5:
        await this.#notAtFirst();
        break;
      case 6:
        await this.#abandoned();
        break;
      case 7:
        await this.#repeated();
        break;
      default:
        await this.#completed(await this.#reserve(1, HOLD_MS));
    }
  }

  /** Asks until there is room; null: it gave up. */
  async #reserve(attemptNo: number, holdMs: number): Promise<number | null> {
    const what = attemptNo === 1 ? 'reserve' : 're-reserve';
    for (let asks = 0; asks < MAX_ASKS && !this.#signal.aborted; asks += 1) {
      const answer = await this.#routes.reserveRoute({ ...this.#request(), attemptNo, holdMs });
      this.#options.tally.note(what, answer.kind);
      if (answer.kind === 'reserved') return answer.reservation.fence;
      if (!('retryInMs' in answer)) return null;
      await pause(Math.min(answer.retryInMs, MAX_PAUSE_MS), this.#signal);
    }
    return null;
  }

  #request() {
    const { actionId } = this.#action;
    const { tenant, capabilityOf } = this.#options;
    const capabilityId = capabilityOf(this.#nth);
    return reserveRequestOf({ tenantId: tenant, actionId, capabilityId, nth: this.#nth });
  }

  async #completed(fence: number | null): Promise<void> {
    if (fence === null) return;
    const { db, tally } = this.#options;
    const { answer } = await beginDispatch(db, { ...this.#action, fence, resume: false });
    tally.note('send', answer.kind);
    const close = answer.kind === 'send' ? CLOSE : NOT_STARTED;
    const resultBytes = answer.kind === 'send' ? resultOf(this.#action.actionId) : null;
    const written = { ...close, resultBytes };
    const closed = await closeDispatch(db, { ...this.#action, fence }, written, anyReceipt);
    tally.note('settle', closed.kind);
  }

  /** Its host has begun nothing, and it is asked again. */
  async #notAtFirst(): Promise<void> {
    const fence = await this.#reserve(1, HOLD_MS);
    if (fence === null) return;
    const { db, tally } = this.#options;
    const written = { ...NOT_STARTED, resultBytes: null };
    const answer = await closeDispatch(db, { ...this.#action, fence }, written, anyReceipt);
    tally.note('settle', answer.kind);
    await this.#completed(await this.#reserve(2, HOLD_MS));
  }

  /** Its worker is gone for longer than it may hold; then it settles what is not its own any more. */
  async #abandoned(): Promise<void> {
    const fence = await this.#reserve(1, SHORT_HOLD_MS);
    if (fence === null) return;
    const { db, tally } = this.#options;
    await pause(3 * SHORT_HOLD_MS, this.#signal);
    const late = await this.#settle(fence);
    tally.note('late settle', late);
    await beginFencing(db, this.#action, { aboveFence: null, adopt: null }, readySigner);
    await this.#completed(await this.#reserve(2, HOLD_MS));
  }

  /** Every answer is lost once. */
  async #repeated(): Promise<void> {
    const fence = await this.#reserve(1, HOLD_MS);
    if (fence === null) return;
    const { tally } = this.#options;
    const again = await this.#routes.reserveRoute({ ...this.#request(), holdMs: HOLD_MS });
    const same = again.kind === 'reserved' && again.reservation.fence === fence;
    tally.note('repeated reserve', same ? 'the same' : again.kind);
    tally.note('settle', await this.#settle(fence));
    tally.note('repeated settle', await this.#settle(fence));
  }

  async #settle(fence: number): Promise<string> {
    const settle = { settlement: 'not_started', unknownCause: null, evidence: {} } as const;
    return (await this.#routes.settleRoute({ ...this.#action, fence, ...settle })).kind;
  }
}
