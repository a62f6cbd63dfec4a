/**
 * What comes at once goes at once, in one statement and one commit: groups of a key start some
 * milliseconds apart, and what comes between two starts goes together. Who comes alone waits for nobody. An
 * item that keeps its group from being written fails alone: then each of the group is written by itself.
 */
import { WaybillError } from '../domain/errors';

export interface GroupOptions<Key, Item, Answer> {
  /** Statements of one key at once: one that waits for a lock does not hold up the others. */
  readonly atOnce: number;
  /** Between two starts of a key. So many as fill a group do not wait for it, and begin none. */
  readonly spacingMs: number;
  readonly maxItems: number;
  /** Left out where the largest group of the largest items is small. */
  readonly size?: { readonly maxBytes: number; readonly bytesOf: (item: Item) => number };
  /** Two or more of a key, all of them or none; answers in their order. */
  readonly together: (key: Key, items: readonly Item[]) => Promise<readonly Answer[]>;
  readonly alone: (item: Item) => Promise<Answer>;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

interface Line<Item, Answer> {
  readonly waiting: Waiting<Item, Answer>[];
  underWay: number;
  /** Less than the spacing ago a group was started that did not fill up before its time. */
  isSpaced: boolean;
}

export class Groups<Key, Item, Answer> {
  readonly #options: GroupOptions<Key, Item, Answer>;
  /** Of the keys that have, or have just had, something under way. */
  readonly #lines = new Map<Key, Line<Item, Answer>>();

  constructor(options: GroupOptions<Key, Item, Answer>) {
    this.#options = options;
  }

  /** Committed when this resolves; rejects as `alone` does. Items of two keys never go together. */
  async write(key: Key, item: Item): Promise<Answer> {
    return await new Promise((resolve, reject) => {
      const line = this.#lines.get(key) ?? { waiting: [], underWay: 0, isSpaced: false };
      this.#lines.set(key, line);
      line.waiting.push({ item, resolve, reject });
      this.#go(key, line);
    });
  }

  /** Starts the line's next group if it is time. */
  #go(key: Key, line: Line<Item, Answer>): void {
    const { atOnce, maxItems, spacingMs } = this.#options;
    const count = line.waiting.length;
    if (count === 0 && line.underWay === 0 && !line.isSpaced) this.#lines.delete(key);
    if (count === 0 || line.underWay >= atOnce || (line.isSpaced && count < maxItems)) return;
    line.underWay += 1;
    void this.#write(key, this.#takeGroup(line.waiting)).then(() => {
      line.underWay -= 1;
      this.#go(key, line);
    });
    if (line.isSpaced) return;
    line.isSpaced = true;
    setTimeout(() => {
      line.isSpaced = false;
      this.#go(key, line);
    }, spacingMs);
  }

  async #write(key: Key, group: readonly Waiting<Item, Answer>[]): Promise<void> {
    if (group.length === 1) return this.#eachAlone(group);
    try {
      const items = group.map(({ item }) => item);
      const answers = await this.#options.together(key, items);
      for (const [at, { resolve, reject }] of group.entries()) {
        const answer = answers[at];
        if (answer === undefined) reject(new WaybillError('internal', 'one was not answered'));
        else resolve(answer);
      }
    } catch {
      await this.#eachAlone(group);
    }
  }

  async #eachAlone(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    const { alone } = this.#options;
    await Promise.all(group.map(({ item, resolve, reject }) => alone(item).then(resolve, reject)));
  }

  #takeGroup(waiting: Waiting<Item, Answer>[]): Waiting<Item, Answer>[] {
    const { maxItems, size } = this.#options;
    let bytes = 0;
    const end = waiting.findIndex(({ item }, at) => {
      bytes += size?.bytesOf(item) ?? 0;
      return at > 0 && (at === maxItems || bytes > (size?.maxBytes ?? 0));
    });
    return waiting.splice(0, end === -1 ? waiting.length : end);
  }
}
