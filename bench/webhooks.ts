/** Webhooks as GitHub sends them, made and signed before the clock runs. */
import { createHmac, randomUUID } from 'node:crypto';

export interface SignedWebhook {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export const BODY_BYTES = 1024;

/** A new one: its own delivery id and its own bytes. */
function newWebhook(secret: string): SignedWebhook {
  const id = randomUUID();
  const start = JSON.stringify({ ref: 'refs/heads/main', id, pad: '' }).slice(0, -2);
  const body = Buffer.from(`${start.padEnd(BODY_BYTES - 2, 'x')}"}`);
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'GitHub-Hookshot/bench',
      'x-github-delivery': id,
      'x-github-event': 'push',
      'x-hub-signature-256': `sha256=${signature}`,
    },
    body,
  };
}

/** So many new ones. */
export function newWebhooks(secret: string, count: number): SignedWebhook[] {
  return Array.from({ length: count }, () => newWebhook(secret));
}

/**
 * How many new ones ago a duplicate was first sent: more than are ever under way at once, so that a
 * duplicate is a vendor's late retry and not a race with its first.
 */
const DUPLICATE_DISTANCE = 50;

/** An endless stream of which an even share are exact repetitions of earlier ones. */
export class WebhookStream {
  readonly #secret: string;
  readonly #duplicateShare: number;
  readonly #recent: SignedWebhook[] = [];
  #owed = 0;
  #duplicates = 0;

  constructor(secret: string, duplicateShare: number) {
    this.#secret = secret;
    this.#duplicateShare = duplicateShare;
  }

  /** The first ones: all new, they fill what duplicates are taken from. */
  seed(): SignedWebhook[] {
    return Array.from({ length: 2 * DUPLICATE_DISTANCE }, () => this.#new());
  }

  take(count: number): SignedWebhook[] {
    return Array.from({ length: count }, () => this.#next());
  }

  #next(): SignedWebhook {
    this.#owed += this.#duplicateShare;
    if (this.#owed < 1 - Number.EPSILON * 1024) return this.#new();
    this.#owed -= 1;
    this.#duplicates += 1;
    const old = this.#recent[this.#duplicates % DUPLICATE_DISTANCE];
    if (old === undefined) throw new Error('a stream is seeded before it repeats');
    return old;
  }

  #new(): SignedWebhook {
    const webhook = newWebhook(this.#secret);
    this.#recent.push(webhook);
    if (this.#recent.length > 2 * DUPLICATE_DISTANCE) this.#recent.shift();
    return webhook;
  }
}
