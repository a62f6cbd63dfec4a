/**
 * Log lines that anybody can cause who knows an ingress: so many a minute of each, and one line on how many
 * were left out. In this process's memory.
 */
import { LRUCache } from 'lru-cache';

export interface LineLimits {
  /** Lines of one ingress within a window. */
  readonly lines: number;
  readonly windowMs: number;
}

const LIMITS: LineLimits = { lines: 60, windowMs: 60_000 };
const INGRESSES = 10_000;

interface Window {
  readonly endsAtMs: number;
  written: number;
  leftOut: number;
}

export class BoundedLines {
  readonly #limits: LineLimits;
  readonly #windows = new LRUCache<string, Window>({ max: INGRESSES });

  constructor(limits: LineLimits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Writes, or leaves it out.
   * @param tell is told how many were left out, once, when the window is over
   */
  write(key: string, line: () => void, tell: (leftOut: number) => void): void {
    const window = this.#window(key);
    if (window.written < this.#limits.lines) {
      window.written += 1;
      line();
      return;
    }
    window.leftOut += 1;
    if (window.leftOut > 1) return;
    const over = () => {
      tell(window.leftOut);
    };
    // A process that ends does not wait for it.
    setTimeout(over, Math.max(0, window.endsAtMs - performance.now())).unref();
  }

  #window(key: string): Window {
    const nowMs = performance.now();
    const known = this.#windows.get(key);
    if (known !== undefined && nowMs < known.endsAtMs) return known;
    const begun = { endsAtMs: nowMs + this.#limits.windowMs, written: 0, leftOut: 0 };
    this.#windows.set(key, begun);
    return begun;
  }
}
