/** Work under way in this process, one job an action, and decisions about one action in single file. */
import { setTimeout as delay } from 'node:timers/promises';
import { PROGRESS_NOTE_CHARS, type Progress } from '../../domain/host-protocol';
import { printedLine } from '../../domain/plain-text';

export interface Job<End> {
  readonly kind: 'execution' | 'recovery';
  readonly progress: Progress | null;
  /** Never rejects; null when the job failed. */
  readonly end: Promise<End | null>;
  /** Tells it to stop; it may still finish. */
  abort(): void;
}

interface JobControls {
  readonly signal: AbortSignal;
  progress(note: string, percent?: number): void;
}

export class Jobs<End> {
  readonly #jobs = new Map<string, Job<End>>();
  readonly #tails = new Map<string, Promise<unknown>>();
  readonly #failed: (error: unknown) => void;

  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  get size(): number {
    return this.#jobs.size;
  }

  get(key: string): Job<End> | undefined {
    return this.#jobs.get(key);
  }

  /** Runs `decide` after every earlier decision about this key has ended. */
  async inTurn<Value>(key: string, decide: () => Promise<Value>): Promise<Value> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const mine = before.then(decide, decide);
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }

  start(
    key: string,
    kind: Job<End>['kind'],
    run: (controls: JobControls) => Promise<End>,
  ): Job<End> {
    const stop = new AbortController();
    let progress: Progress | null = null;
    const controls = {
      signal: stop.signal,
      progress: (note: string, percent?: number) => {
        progress = { note: printedLine(note, PROGRESS_NOTE_CHARS), percent: wholePercent(percent) };
      },
    };
    const end = run(controls)
      .catch((error: unknown) => {
        this.#failed(error);
        return null;
      })
      .finally(() => this.#jobs.delete(key));
    const job: Job<End> = {
      kind,
      end,
      get progress() {
        return progress;
      },
      abort: () => {
        stop.abort();
      },
    };
    this.#jobs.set(key, job);
    return job;
  }

  /** Resolves when all that is under way has ended, or after `withinMs`. */
  async drained(withinMs: number): Promise<boolean> {
    const all = Promise.all([...this.#jobs.values()].map(({ end }) => end)).then(() => true);
    return (await within(all, withinMs)) ?? false;
  }
}

function wholePercent(percent = Number.NaN): number | null {
  return Number.isFinite(percent) ? Math.round(Math.min(100, Math.max(0, percent))) : null;
}

/** The value, or null when it is not there within this time. */
export async function within<Value>(value: Promise<Value>, ms: number): Promise<Value | null> {
  const stop = new AbortController();
  // A host that is there has a socket open: this pause alone keeps no process.
  const late = delay(ms, null, { signal: stop.signal, ref: false }).catch(() => null);
  try {
    return await Promise.race([value, late]);
  } finally {
    stop.abort();
  }
}
