/** How a workflow waits: for a time or for news, whichever comes first. */
import { condition, setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import { backoffMs } from '../domain/retry';
import { troubleDetails } from '../domain/waiting-details';
import type { Trouble } from './trouble';
import type { WaitingMark } from './waiting-mark';

const TROUBLES_BEFORE_MARK = 3;

export class Waiting {
  readonly #of: Parameters<typeof troubleDetails>[0];
  readonly #mark: WaitingMark;
  #nudged = false;

  constructor(of: Parameters<typeof troubleDetails>[0], mark: WaitingMark) {
    this.#of = of;
    this.#mark = mark;
  }

  /** There is news: ends the wait under way, or else the next one. */
  nudge(): void {
    this.#nudged = true;
  }

  /** Whether there is news that no wait has ended by. */
  get nudged(): boolean {
    return this.#nudged;
  }

  /** Whether there was news since this was last asked. */
  takeNudge(): boolean {
    const nudged = this.#nudged;
    this.#nudged = false;
    return nudged;
  }

  /**
   * Ends early also once the history is long enough for a new run: what is refused while it waits makes
   * it longer and ends no wait. The caller goes back to where it looks whether one is due.
   */
  async pause(ms: number): Promise<null> {
    await this.standBy(ms);
    return null;
  }

  /** The same, and says what it ended by; `time`: there was no news. */
  async standBy(ms: number): Promise<'news' | 'new_run' | 'time'> {
    const early = await condition(
      () => this.#nudged || workflowInfo().continueAsNewSuggested,
      Math.max(1, ms),
    );
    if (this.takeNudge()) return 'news';
    return early ? 'new_run' : 'time';
  }

  /** Waits after the `count`th trouble in a row, the longer the more there were. */
  async recover(trouble: Trouble, count: number): Promise<null> {
    const ms = backoffMs(count, 1_000, 60_000);
    const details = troubleDetails(this.#of, trouble, ms);
    // A short trouble passes before anybody could look; a longer one is for people to find.
    if (count > TROUBLES_BEFORE_MARK) this.#mark.stay(details);
    else setCurrentDetails(details);
    // Not every caller can go on in a new run: this wait is short, and ends by itself.
    await condition(() => this.#nudged, ms);
    this.#nudged = false;
    return null;
  }
}
