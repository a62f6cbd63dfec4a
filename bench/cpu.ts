/**
 * Processor time by process, user and system, as Linux counts it (`/proc/<pid>/stat`). On other
 * systems there is none.
 */
import { readFileSync, readdirSync } from 'node:fs';

export interface MeasuredProcess {
  /** What it is to a reader, for example `worker`. */
  readonly name: string;
  readonly pid: number;
  /** Whether everything below it counts as its own, ended or not. */
  readonly withChildren?: true;
}

/** Milliseconds by name. */
export type CpuTimes = ReadonlyMap<string, number>;

/** USER_HZ: 100 on every Linux that Node runs on. */
const MS_PER_TICK = 10;

/** Sums what several processes use while something is measured. */
export class CpuMeter {
  readonly #processes: readonly MeasuredProcess[];
  readonly #used = new Map<string, number>();

  constructor(processes: readonly MeasuredProcess[]) {
    this.#processes = processes;
  }

  /** Starts measuring; the answer ends it and adds what was used meanwhile. */
  begin(): () => void {
    const before = this.#read();
    return () => {
      for (const [name, ms] of this.#read()) {
        const used = ms - (before.get(name) ?? 0);
        this.#used.set(name, (this.#used.get(name) ?? 0) + used);
      }
    };
  }

  /** What was used until now was a warm-up. */
  forget(): void {
    this.#used.clear();
  }

  /** Since the last `forget`. */
  get used(): CpuTimes {
    return this.#used;
  }

  #read(): Map<string, number> {
    const stats = allStats();
    return new Map(
      this.#processes.flatMap(({ name, pid, withChildren }) => {
        const own = stats.get(pid);
        if (own === undefined) return [];
        const ticks = withChildren === true ? ticksBelow(pid, stats) : own.ticks;
        return [[name, ticks * MS_PER_TICK] as const];
      }),
    );
  }
}

interface Stat {
  readonly parent: number;
  readonly ticks: number;
  /** Of children that have ended. */
  readonly endedTicks: number;
}

function ticksBelow(pid: number, stats: ReadonlyMap<number, Stat>): number {
  const own = stats.get(pid);
  let ticks = own === undefined ? 0 : own.ticks + own.endedTicks;
  for (const [child, { parent }] of stats) {
    if (parent === pid) ticks += ticksBelow(child, stats);
  }
  return ticks;
}

function allStats(): Map<number, Stat> {
  const stats = new Map<number, Stat>();
  for (const name of procNames()) {
    const stat = /^\d+$/.test(name) ? statOf(name) : null;
    if (stat !== null) stats.set(Number(name), stat);
  }
  return stats;
}

function procNames(): string[] {
  try {
    return readdirSync('/proc');
  } catch {
    return [];
  }
}

function statOf(pid: string): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in parentheses, may hold anything; the state follows it, then the parent.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user = 0, system = 0, endedUser = 0, endedSystem = 0] = fields.slice(11, 15);
    return { parent: fields[1] ?? 0, ticks: user + system, endedTicks: endedUser + endedSystem };
  } catch {
    return null;
  }
}
