/** Every secret of a run, so that none of them gets into its evidence. */

/** Shorter texts would be found by chance. */
const SHORTEST = 16;
const IN_ITS_PLACE = '[redacted]';

export class SecretValues {
  readonly #values = new Set<string>();

  /** Returns it, so that a secret can be noted where it is made. */
  note(value: string): string {
    if (value.length >= SHORTEST) this.#values.add(value);
    return value;
  }

  redacted(text: string): string {
    let clean = text;
    for (const value of this.#values) clean = clean.replaceAll(value, IN_ITS_PLACE);
    return clean;
  }

  /** How many times a secret stands in it. */
  countIn(text: string): number {
    let count = 0;
    for (const value of this.#values) count += text.split(value).length - 1;
    return count;
  }
}
