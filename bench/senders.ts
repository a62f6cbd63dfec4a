/** Senders in a closed loop: each has one connection and one request under way, then the next. */
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Answers } from './ledger';
import type { SignedWebhook } from './webhooks';

export const SENDERS = 32;

/** No request of a benchmark takes this long; one that does ends the run. */
const REQUEST_TIMEOUT_MS = 20_000;

/**
 * Does `work` for all items, `SENDERS` at a time: each sender goes on to its next item when its last
 * one is done. Answers the milliseconds from the first to the end of the last.
 */
export async function inClosedLoop<Item>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<number> {
  const waiting = items.values();
  const started = performance.now();
  await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      for (const item of waiting) {
        signal.throwIfAborted();
        await work(item);
      }
    }),
  );
  return performance.now() - started;
}

/** Begins `work` for one item after the other at this rate, and ends when all of it has settled. */
export async function atRate<Item>(
  perSecond: number,
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const started = performance.now();
  const under: Promise<void>[] = [];
  for (const [nth, item] of items.entries()) {
    const waitMs = started + (nth * 1000) / perSecond - performance.now();
    if (waitMs > 0) await delay(waitMs, undefined, { signal });
    signal.throwIfAborted();
    const begun = work(item);
    // It fails the run at its end, not the process in between.
    begun.catch(() => undefined);
    under.push(begun);
  }
  await Promise.all(under);
}

/** One connection for each sender. */
export function senderPool(origin: string): Pool {
  return new Pool(origin, {
    connections: SENDERS,
    pipelining: 1,
    headersTimeout: REQUEST_TIMEOUT_MS,
    bodyTimeout: REQUEST_TIMEOUT_MS,
  });
}

/** An accepted request. */
export interface Accepted {
  readonly deliveryId: string;
  /** On this process's monotonic clock. */
  readonly sentAtMs: number;
}

export class Senders {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #signal: AbortSignal;

  /** @param url of the ingress, on loopback */
  constructor(url: string, signal: AbortSignal) {
    const { origin, pathname } = new URL(url);
    this.#path = pathname;
    this.#signal = signal;
    this.#pool = senderPool(origin);
  }

  /**
   * Sends all of them, `SENDERS` at a time; a sender goes on to its next request when `then` of the
   * last one has settled. Answers the milliseconds from the first request to the end of the last.
   */
  async send(
    webhooks: readonly SignedWebhook[],
    answers: Answers,
    then: (accepted: Accepted) => Promise<void> = () => Promise.resolve(),
  ): Promise<number> {
    return await inClosedLoop(webhooks, this.#signal, async (webhook) => {
      const accepted = await this.#one(webhook, answers);
      if (accepted !== null) await then(accepted);
    });
  }

  /**
   * Sends them at this rate, whatever becomes of them: an open loop. Ends when `then` of all of them
   * has settled.
   */
  async sendAt(
    perSecond: number,
    webhooks: readonly SignedWebhook[],
    answers: Answers,
    then: (accepted: Accepted) => Promise<void>,
  ): Promise<void> {
    await atRate(perSecond, webhooks, this.#signal, async (webhook) => {
      const accepted = await this.#one(webhook, answers);
      if (accepted !== null) await then(accepted);
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #one(webhook: SignedWebhook, answers: Answers): Promise<Accepted | null> {
    answers.sent += 1;
    const sentAtMs = performance.now();
    const { statusCode, body } = await this.#pool.request({
      method: 'POST',
      path: this.#path,
      headers: webhook.headers,
      body: webhook.body,
    });
    const answer = (await body.json()) as { outcome?: unknown; deliveryId?: unknown };
    const { outcome, deliveryId } = answer;
    const taken = statusCode === 202 && typeof outcome === 'string';
    answers.note(taken ? outcome : `status ${statusCode}`, performance.now() - sentAtMs);
    if (!taken || outcome !== 'accepted' || typeof deliveryId !== 'string') return null;
    return { deliveryId, sentAtMs };
  }
}
