/**
 * What comes at once goes at once: while statements of a key are under way its further items wait, and then
 * go together, in one statement and one commit. At low load nobody waits. An item that keeps its group from
 * being written fails alone: then each of the group is written by itself.
 */
import { WaybillError } from '../domain/errors';

export interface GroupOptions<Item, Answer> {
  /** Statements of one key at once. More would make smaller groups and not be faster. */
  readonly atOnce: number;
  readonly maxItems: number;
  /** Left out where the largest group of the largest items is small. */
  readonly size?: { readonly maxBytes: number; readonly bytesOf: (item: Item) => number };
  /** All of them or none; answers in their order. */
  readonly together: (items: readonly Item[]) => Promise<readonly Answer[]>;
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
}

export class Groups<Key, Item, Answer> {
  readonly #options: GroupOptions<Item, Answer>;
  /** Of the keys that have something under way. */
  readonly #lines = new Map<Key, Line<Item, Answer>>();

  constructor(options: GroupOptions<Item, Answer>) {
    this.#options = options;
  }

  /** Committed when this resolves; rejects as `alone` does. Items of two keys never go together. */
  async write(key: Key, item: Item): Promise<Answer> {
    return await new Promise((resolve, reject) => {
      const line = this.#lines.get(key) ?? { waiting: [], underWay: 0 };
      this.#lines.set(key, line);
      line.waiting.push({ item, resolve, reject });
      if (line.underWay < this.#options.atOnce) void this.#serve(key, line);
    });
  }

  async #serve(key: Key, line: Line<Item, Answer>): Promise<void> {
    line.underWay += 1;
    while (line.waiting.length > 0) await this.#write(this.#takeGroup(line.waiting));
    line.underWay -= 1;
    if (line.underWay === 0) this.#lines.delete(key);
  }

  async #write(group: readonly Waiting<Item, Answer>[]): Promise<void> {
    try {
      const answers = await this.#options.together(group.map(({ item }) => item));
      for (const [at, { resolve, reject }] of group.entries()) {
        const answer = answers[at];
        if (answer === undefined) reject(new WaybillError('internal', 'one was not answered'));
        else resolve(answer);
      }
    } catch (error) {
      if (group.length > 1) await Promise.all(group.map((waiting) => this.#alone(waiting)));
      else for (const { reject } of group) reject(error);
    }
  }

  async #alone({ item, resolve, reject }: Waiting<Item, Answer>): Promise<void> {
    await this.#options.alone(item).then(resolve, reject);
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
