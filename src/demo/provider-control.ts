/**
 * Asks the demo provider what it has done, and lets it stand still. Deliberately apart from the code
 * by which hosts use it: what it says is the outside view of what came of an action.
 */
import { z } from 'zod';

const ProviderEntry = z.object({
  seq: z.int(),
  operation: z.enum(['created', 'repeated', 'cancelled']),
  effectId: z.string(),
  reference: z.string().nullable(),
});
export type ProviderEntry = z.infer<typeof ProviderEntry>;

const Audit = z.object({ entries: z.array(ProviderEntry) });
const Holds = z.object({ held: z.int() });

const TIMEOUT_MS = 10_000;

export class ProviderControl {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  /** What it did for this action, oldest first. */
  async recordsOf(actionId: string): Promise<readonly ProviderEntry[]> {
    const found: ProviderEntry[] = [];
    for (let after = 0; ;) {
      const answer = await this.#call('GET', `/control/audit?after=${after}`);
      const { entries } = Audit.parse(answer);
      const last = entries.at(-1);
      if (last === undefined) return found;
      found.push(...entries.filter(({ reference }) => reference === actionId));
      after = last.seq;
    }
  }

  /** The next effect is made, and its answer is kept back. */
  async holdNext(): Promise<void> {
    await this.#call('PUT', '/control/holds', { count: 1 });
  }

  /** How many answers are kept back now. */
  async held(): Promise<number> {
    return Holds.parse(await this.#call('GET', '/control/holds')).held;
  }

  /** Answers what was kept back, and keeps nothing back any more. */
  async release(): Promise<void> {
    await this.#call('DELETE', '/control/holds');
  }

  async #call(method: string, path: string, content?: object): Promise<unknown> {
    const answer = await fetch(`${this.#base}${path}`, {
      method,
      ...(content === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw new Error(`the demo provider answered ${answer.status} to ${path}`);
    return await answer.json();
  }
}
