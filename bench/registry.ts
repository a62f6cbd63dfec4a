/** All benchmarks, in the order in which they run. */
import type { Benchmark } from './benchmark';
import { p13 } from './benchmarks/p13';
import { p14 } from './benchmarks/p14';
import { p15 } from './benchmarks/p15';
import { p16 } from './benchmarks/p16';
import { p17 } from './benchmarks/p17';
import { p18 } from './benchmarks/p18';

export const BENCHMARKS: readonly Benchmark[] = [p13, p14, p15, p16, p17, p18];

/** @throws Error naming what exists, for an id that does not */
export function chosenBenchmarks(ids: readonly string[]): readonly Benchmark[] {
  const known = BENCHMARKS.map((benchmark) => benchmark.id);
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    throw new Error(`no benchmark ${unknown.join(', ')}; there are ${known.join(', ')}`);
  }
  return ids.length === 0 ? BENCHMARKS : BENCHMARKS.filter(({ id }) => ids.includes(id));
}
