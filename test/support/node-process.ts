/**
 * A real process for tests that kill it. It announces what it does as JSON lines: its log on standard
 * error, a held point on standard output.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Line = Readonly<Record<string, unknown>>;

export class NodeProcess {
  readonly #child: ChildProcess;
  readonly #lines: Line[] = [];
  readonly #text: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #exited: Promise<void>;
  #over = false;

  /** @param options its folder, and what its environment has beside that of the tests */
  constructor(
    args: readonly string[],
    options: {
      readonly cwd: string;
      readonly env: Readonly<Record<string, string>>;
      /** Another program than Node. */
      readonly program?: string;
    },
  ) {
    this.#child = spawn(options.program ?? process.execPath, args, {
      cwd: options.cwd,
      env: { ...process.env, ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream !== null)
        createInterface({ input: stream }).on('line', (l) => {
          this.#take(l);
        });
    }
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', () => {
        this.#over = true;
        this.#wake();
        resolve();
      });
    });
  }

  /** The first line for which `matches` holds; fails when the process ends or time is over. */
  async line(what: string, matches: (line: Line) => boolean, deadlineMs = 30_000): Promise<Line> {
    return await this.nthLine(1, what, matches, deadlineMs);
  }

  /** The same of a line that comes more than once; 1 is the first. */
  async nthLine(
    nth: number,
    what: string,
    matches: (line: Line) => boolean,
    deadlineMs: number,
  ): Promise<Line> {
    const deadline = performance.now() + deadlineMs;
    for (;;) {
      const found = this.#lines.filter(matches)[nth - 1];
      if (found !== undefined) return found;
      if (this.#over || performance.now() > deadline) {
        throw new Error(`${what} did not come:\n${this.#text.slice(-30).join('\n')}`);
      }
      await this.#news(deadline - performance.now());
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** What it has said so far, line by line. */
  get text(): readonly string[] {
    return this.#text;
  }

  /** Resolves when it has ended by itself. */
  async ended(): Promise<void> {
    await this.#exited;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** An orderly end. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#exited;
  }

  #take(text: string): void {
    this.#text.push(text);
    try {
      const line: unknown = JSON.parse(text);
      if (typeof line === 'object' && line !== null) this.#lines.push(line as Line);
    } catch {
      // Not every line is ours.
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  async #news(withinMs: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, withinMs));
      this.#waiting.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
