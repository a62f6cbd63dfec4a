/** What was asked and answered, by kind; and what threw. */
export class Tally {
  readonly #counts = new Map<string, number>();
  readonly failures: string[] = [];

  note(what: string, kind: string): void {
    const key = `${what} ${kind}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  fail(error: unknown): void {
    this.failures.push(error instanceof Error ? error.message : String(error));
  }

  of(what: string, kind: string): number {
    return this.#counts.get(`${what} ${kind}`) ?? 0;
  }

  /** Most frequent first. */
  toString(): string {
    const sorted = [...this.#counts].toSorted(([, a], [, b]) => b - a);
    return sorted.map(([key, count]) => `${key} ${count}`).join(', ');
  }
}
