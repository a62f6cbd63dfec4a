/** How the parts of a start are told while they happen; who shows them is up to the caller. */

export interface Step {
  readonly title: string;
  /** @param note tells how it goes, one line at a time */
  readonly work: (note: (line: string) => void) => Promise<void>;
}

/** Runs the steps at the same time; rejects with the first failure. */
export type RunSteps = (steps: readonly Step[]) => Promise<void>;
