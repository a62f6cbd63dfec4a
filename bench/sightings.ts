/** Who has been seen at the far end, how often, and whom somebody waits for. */

/** Little of a benchmark takes this long; what does ends the run. */
const PATIENCE_MS = 60_000;

export class Sightings {
  readonly #where: string;
  readonly #seen = new Set<string>();
  readonly #waiting = new Map<string, () => void>();
  #calls = 0;

  /** @param where for people, when something is not seen in time */
  constructor(where: string) {
    this.#where = where;
  }

  note(id: string): void {
    this.#calls += 1;
    this.#seen.add(id);
    this.#waiting.get(id)?.();
  }

  /** All of them so far, repeated ones included. */
  get calls(): number {
    return this.#calls;
  }

  /** Different ones so far. */
  get different(): number {
    return this.#seen.size;
  }

  /** Resolves when this one has been seen; at once when it was. */
  async seen(id: string, patienceMs = PATIENCE_MS): Promise<void> {
    if (this.#seen.has(id)) return;
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => {
        reject(new Error(`${this.#where} has not seen ${id} within ${patienceMs / 1000} s`));
      }, patienceMs);
      this.#waiting.set(id, () => {
        clearTimeout(late);
        this.#waiting.delete(id);
        resolve();
      });
    });
  }
}
