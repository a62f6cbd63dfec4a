/**
 * The faults of a soak: they follow from seed and length alone. Several strands go on at once, each of things
 * that are broken and mended one after another; everything is mended before the end.
 */
import { CONDUCTS, LANE_CHANGES, type Fault, type FleetChange } from '../faults';
import { GATEWAYS, HOSTS, WORKERS, type ProcessName, type WaybillName } from '../site/topology';
import { SeededRandom, SEEDS } from './random';

export interface Soak {
  readonly seed: number;
  readonly durationMs: number;
}

/** So long after the beginning. */
export type TimedFault = Fault & { readonly atMs: number };

/** Which strand a fault is of: those of one strand are done one after another. */
export type Strand = keyof typeof STRANDS;

type Episode = readonly [Fault] | readonly [Fault, Fault];

interface StrandData {
  /** Seconds between two episodes, and how long what is broken stays so. */
  readonly gapS: readonly [number, number];
  readonly brokenS: readonly [number, number];
  readonly episode: (random: SeededRandom) => Episode;
}

const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;

type Happening = (process: WaybillName, random: SeededRandom) => Episode;

const workerEpisode = oneOf(WORKERS, [dies, freezes, clockJumps]);
const gatewayEpisode = oneOf(GATEWAYS, [dies, dies, freezes, clockJumps]);
const hostEpisode = oneOf(
  HOSTS.map(({ name }) => name),
  [dies, dies, freezes],
);

const STRANDS = {
  workers: { gapS: [8, 30], brokenS: [1, 12], episode: workerEpisode },
  gateways: { gapS: [12, 40], brokenS: [1, 8], episode: gatewayEpisode },
  hosts: { gapS: [6, 20], brokenS: [1, 12], episode: hostEpisode },
  lifecycle: { gapS: [45, 120], brokenS: [1, 8], episode: () => dies('lifecycle') },
  postgres: { gapS: [60, 180], brokenS: [1, 8], episode: () => dies('postgres') },
  temporal: { gapS: [60, 180], brokenS: [2, 15], episode: () => dies('temporal') },
  target: { gapS: [20, 60], brokenS: [1, 5], episode: targetEpisode },
  link: { gapS: [5, 20], brokenS: [0, 0], episode: linkEpisode },
  disk: { gapS: [40, 120], brokenS: [1, 5], episode: diskEpisode },
  lane: { gapS: [10, 30], brokenS: [20, 40], episode: laneEpisode },
} as const satisfies Readonly<Record<string, StrandData>>;

/** In the order in which they are done; the same for the same soak, always. */
export function soakSchedule({ seed, durationMs }: Soak): readonly TimedFault[] {
  const random = new SeededRandom(seed);
  const strands = Object.values<StrandData>(STRANDS).map((strand) =>
    // Each strand has a seed of its own: what one of them does moves no other.
    strandSchedule(strand, new SeededRandom(random.between(0, SEEDS - 1)), durationMs),
  );
  // Stable: faults of one instant stay in the order of their strands.
  return strands.flat().sort((one, other) => one.atMs - other.atMs);
}

/** @throws Error for one that no soak has */
export function strandOf(fault: Fault): Strand {
  switch (fault.kind) {
    case 'target':
    case 'link':
    case 'disk':
      return fault.kind;
    case 'publish':
      if (isLaneChange(fault.change)) return 'lane';
      throw foreign(fault);
    case 'clock':
    case 'kill':
    case 'start':
    case 'freeze':
    case 'wake':
      return strandOfProcess(fault.process);
    case 'away':
    case 'crash':
    case 'foreign-record':
    case 'stop':
    case 'token-replayed':
      throw foreign(fault);
  }
}

function foreign({ kind }: Fault): Error {
  return new Error(`a soak has no fault ${kind}`);
}

function isLaneChange(change: FleetChange): boolean {
  return LANE_CHANGES.some((one) => one === change);
}

function strandOfProcess(name: ProcessName): Strand {
  if (name === 'lifecycle' || name === 'postgres' || name === 'temporal') return name;
  if (WORKERS.some((worker) => worker === name)) return 'workers';
  return GATEWAYS.some((gateway) => gateway === name) ? 'gateways' : 'hosts';
}

function strandSchedule(
  { gapS, brokenS, episode }: StrandData,
  random: SeededRandom,
  durationMs: number,
): TimedFault[] {
  const faults: TimedFault[] = [];
  const pause = ([least, most]: readonly [number, number]) =>
    random.between(least * SECOND_MS, most * SECOND_MS);
  for (let atMs = pause(gapS); ; atMs += pause(gapS)) {
    const [breaks, mends] = episode(random);
    const beginsAtMs = atMs;
    atMs += pause(brokenS);
    if (atMs > durationMs) return faults;
    faults.push({ ...breaks, atMs: beginsAtMs });
    if (mends !== undefined) faults.push({ ...mends, atMs });
  }
}

function oneOf(
  names: readonly WaybillName[],
  happenings: readonly Happening[],
): (random: SeededRandom) => Episode {
  return (random) => {
    const name = random.one(names);
    return random.one(happenings)(name, random);
  };
}

function dies(process: ProcessName): Episode {
  return [
    { kind: 'kill', process },
    { kind: 'start', process },
  ];
}

function freezes(process: ProcessName): Episode {
  return [
    { kind: 'freeze', process },
    { kind: 'wake', process },
  ];
}

function clockJumps(process: WaybillName, random: SeededRandom): Episode {
  const aheadMs = random.one([HOUR_MS, -HOUR_MS]);
  return [
    { kind: 'clock', process, aheadMs },
    { kind: 'clock', process, aheadMs: 0 },
  ];
}

function targetEpisode(random: SeededRandom): Episode {
  const status = random.one([500, 503, 429]);
  return [
    { kind: 'target', status },
    { kind: 'target', status: null },
  ];
}

function linkEpisode(random: SeededRandom): Episode {
  return [{ kind: 'link', conduct: random.one(CONDUCTS) }];
}

function diskEpisode(): Episode {
  return [
    { kind: 'disk', full: true },
    { kind: 'disk', full: false },
  ];
}

/** Nothing is broken by it: what is under way meanwhile has begun in one lane or the other. */
function laneEpisode(): Episode {
  const [first, then] = LANE_CHANGES;
  return [
    { kind: 'publish', change: first },
    { kind: 'publish', change: then },
  ];
}
