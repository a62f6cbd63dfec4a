/**
 * How many bytes of bodies one process holds at once. Bodies are read before anybody has vouched for
 * them, so that without a bound a few senders could fill the memory of the process.
 */
import { WaybillError } from '../domain/errors';

export class BodyBudget {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  /**
   * Takes bytes for one body.
   * @throws WaybillError `overloaded` when they are not there; the sender may come again
   */
  take(bytes: number): void {
    if (bytes > this.#left) throw new WaybillError('overloaded');
    this.#left -= bytes;
  }

  give(bytes: number): void {
    this.#left += bytes;
  }
}
