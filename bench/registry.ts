/** All benchmarks, in the order in which they run. */
import type { Benchmark } from './benchmark';
import { p1 } from './benchmarks/p1';
import { p13 } from './benchmarks/p13';
import { p14 } from './benchmarks/p14';
import { p15 } from './benchmarks/p15';
import { p16 } from './benchmarks/p16';
import { p16Sustained } from './benchmarks/p16-sustained';
import { p17 } from './benchmarks/p17';
import { p18 } from './benchmarks/p18';
import { p18Express } from './benchmarks/p18-express';
import { p18Replay } from './benchmarks/p18-replay';
import { p20 } from './benchmarks/p20';
import { p21 } from './benchmarks/p21';
import { p22 } from './benchmarks/p22';
import { p23 } from './benchmarks/p23';
import { p3 } from './benchmarks/p3';
import { p5 } from './benchmarks/p5';
import { p6 } from './benchmarks/p6';
import { p7 } from './benchmarks/p7';
import { p8 } from './benchmarks/p8';

export const BENCHMARKS: readonly Benchmark[] = [
  ...[p1, p3, p5, p6, p7, p8],
  ...[p13, p14, p15, p16, p16Sustained, p17, p18, p18Express, p18Replay, p20, p21, p22, p23],
];

/** @throws Error naming what exists, for an id that does not */
export function chosenBenchmarks(ids: readonly string[]): readonly Benchmark[] {
  const known = BENCHMARKS.map((benchmark) => benchmark.id);
  const unknown = ids.filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    throw new Error(`no benchmark ${unknown.join(', ')}; there are ${known.join(', ')}`);
  }
  return ids.length === 0 ? BENCHMARKS : BENCHMARKS.filter(({ id }) => ids.includes(id));
}
