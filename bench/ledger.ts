/**
 * The books of a run: what was sent, what was answered, what the databases hold. A figure counts
 * only when all of them agree to the last one.
 */

export class Books {
  readonly #imbalances: string[] = [];

  /** Both counts must be equal. */
  equal(left: string, leftCount: number | undefined, right: string, rightCount: number): void {
    if (leftCount === rightCount) return;
    this.#imbalances.push(`${left} ${leftCount ?? 'none'} is not ${right} ${rightCount}`);
  }

  /** Every request that was sent has one answer. */
  answers(name: string, answers: Answers): void {
    this.equal(`${name} sent`, answers.sent, 'answered', answers.taken + answers.refused);
  }

  /** One sentence for each pair that differs; none: the books balance. */
  get imbalances(): readonly string[] {
    return this.#imbalances;
  }
}

/** What became of the requests of one side, by its answers. */
export class Answers {
  sent = 0;
  accepted = 0;
  duplicates = 0;
  /** Answered, and neither of the above. */
  refused = 0;
  readonly latenciesMs: number[] = [];

  /** Notes the answer of one request that was sent `latencyMs` ago. */
  note(outcome: string, latencyMs: number): void {
    if (outcome === 'accepted') this.accepted += 1;
    else if (outcome === 'duplicate') this.duplicates += 1;
    else this.refused += 1;
    this.latenciesMs.push(latencyMs);
  }

  /** What counts for a rate: a refusal is quick and worth nothing. */
  get taken(): number {
    return this.accepted + this.duplicates;
  }

  /** Share of the requests that were taken. */
  get success(): number {
    return this.sent === 0 ? 0 : this.taken / this.sent;
  }
}

/** How many of a side's requests are taken a second while it runs; `run` answers how many ms it took. */
export async function takenPerSecond(
  answers: Answers,
  run: () => Promise<number>,
): Promise<number> {
  const before = answers.taken;
  const elapsedMs = await run();
  return ((answers.taken - before) / elapsedMs) * 1000;
}
