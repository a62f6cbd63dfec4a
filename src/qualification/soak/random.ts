/** Seeds are the whole numbers below it, from 0 on. */
export const SEEDS = 2 ** 32;

/** Numbers that follow from a seed alone, the same on every machine (mulberry32). Not for secrets. */
export class SeededRandom {
  #state: number;

  /** @param seed below `SEEDS` */
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / SEEDS;
  }

  /** A whole number from the one to the other, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  /** @throws Error where there is none */
  one<Value>(values: readonly Value[]): Value {
    const found = values[this.between(0, values.length - 1)];
    if (found === undefined) throw new Error('there is nothing to choose from');
    return found;
  }
}
