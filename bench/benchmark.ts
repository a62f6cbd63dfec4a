/** What a benchmark is, and what it hands back. */
import { Closers } from '../src/workers/closers';
import type { Environment } from './environment';
import type { Spread } from './rounds';

export interface Benchmark {
  /** As on the command line, for example `P17`. */
  readonly id: string;
  /** One line for people: what is measured, against what. */
  readonly what: string;
  /** Measures; ends what it started, also when it fails. */
  readonly run: (bench: Bench) => Promise<Figure[]>;
}

export interface Bench {
  readonly environment: Environment;
  /** Interleaved rounds of each contest. */
  readonly rounds: number;
  /** Aborted when somebody asks for the end. */
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** Measures with closers of its own, which end what was started, also where it fails. */
export async function closing<Result>(
  measure: (closers: Closers) => Promise<Result>,
): Promise<Result> {
  const closers = new Closers();
  try {
    return await measure(closers);
  } finally {
    await closers.close();
  }
}

/** What has to hold of a figure. */
export type Goal =
  | { readonly of: 'ratio'; readonly atLeast: number }
  | { readonly of: 'ratio'; readonly atMost: number }
  | { readonly of: 'value'; readonly atMost: number }
  /** Nothing but that they balance: it is measured, and no ratio of it is promised. */
  | { readonly of: 'books' };

/** One line of the result; a figure whose ledger does not balance is void. */
export interface Figure {
  readonly id: string;
  readonly what: string;
  /** Of value and baseline. */
  readonly unit: string;
  readonly value: Spread;
  /** Null where there is nothing to compare with. */
  readonly baseline: Spread | null;
  /** Value through baseline, round by round; null where there are no rounds. */
  readonly ratios: Spread | null;
  readonly goal: Goal;
  /** Share of the requests that ended as they should, from 0 to 1. */
  readonly success: { readonly value: number; readonly baseline: number | null };
  /** What does not balance, one sentence each; empty: it balances. */
  readonly imbalances: readonly string[];
  /** Where the time goes, where that is measured. */
  readonly costs?: { readonly value: Costs; readonly baseline: Costs };
  /** For people, below the table. */
  readonly notes: readonly string[];
}

/** What one unit of work takes. */
export interface Costs {
  /** From its start to its end, where it is kept. */
  readonly latencyMs: { readonly p50: number; readonly p95: number };
  /** Processor time by process; empty where the system does not tell. */
  readonly cpuMs: ReadonlyMap<string, number>;
}

/** Value through baseline, of the medians; null where there is no baseline. */
export function ratioOf({ value, baseline }: Figure): number | null {
  return baseline === null ? null : value.median / baseline.median;
}

/** A void figure meets nothing. */
export function isMet(figure: Figure): boolean {
  if (!isBalanced(figure)) return false;
  const { goal } = figure;
  switch (goal.of) {
    case 'ratio': {
      const ratio = ratioOf(figure) ?? Number.NaN;
      return 'atLeast' in goal ? ratio >= goal.atLeast : ratio <= goal.atMost;
    }
    case 'value':
      return figure.value.max <= goal.atMost;
    case 'books':
      return true;
  }
}

export function isBalanced(figure: Figure): boolean {
  return figure.imbalances.length === 0;
}
