/**
 * How many bytes of bodies one process holds at once. Bodies are read before anybody has vouched for
 * them, so that without a bound a few senders could fill the memory of the process.
 */
export class BodyBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Takes bytes for a body; false when they are not there, and nothing is taken. */
  take(bytes: number): boolean {
    if (bytes > this.#left) return false;
    this.#left -= bytes;
    return true;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}
