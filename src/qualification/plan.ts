/** Which families a run proves: all, a reduced set, or those that are asked for with what they need. */
import { randomInt } from 'node:crypto';
import { WaybillError } from '../domain/errors';
import { FAMILIES } from './families';
import {
  FAMILY_NAMES,
  inWindow,
  type FamilyData,
  type FamilyName,
  type NamedFamily,
} from './families/family';
import { soakFamily } from './families/soak';
import { BOUNDARIES, type Boundary } from './faults';
import { SEEDS } from './soak/random';
import type { Soak } from './soak/schedule';

export type PlanKind = 'full' | 'reduced' | 'chosen' | 'soak';

export interface Plan {
  readonly kind: PlanKind;
  readonly families: readonly NamedFamily[];
  /** What its faults follow from; null: no soak. */
  readonly soak: Soak | null;
}

/** For a pipeline that has a minute: the invariants that everything rests on. */
const REDUCED: readonly FamilyName[] = [
  'baseline',
  'idempotent-replay',
  'crash-windows',
  'database-outage',
  'database-recovery',
];
const REDUCED_WINDOWS: readonly Boundary[] = ['intent_persisted', 'provider_effect_committed'];

/** What a person asks for. */
export interface PlanWish {
  /** Names of families, or `FAMILY:BOUNDARY` for one of its crash windows; none: all of them. */
  readonly cases: readonly string[];
  readonly reduced: boolean;
  /** Random faults for so long instead. */
  readonly soakMs?: number | undefined;
  /** What they follow from; undefined: a new one. */
  readonly seed?: number | undefined;
}

const SHORTEST_SOAK_MS = 30_000;

/**
 * @throws WaybillError `config_invalid` naming what there is, for a name that there is not, and for wishes that
 *   exclude each other
 */
export function planOf(options: PlanWish): Plan {
  const { cases, reduced, soakMs, seed } = options;
  if (soakMs !== undefined) {
    if (reduced || cases.length > 0) throw wrong('--soak', 'not together with --case or --reduced');
    if (soakMs < SHORTEST_SOAK_MS) throw wrong('--soak', 'name 30s or more, such as 10m');
    return soakPlan({ durationMs: soakMs, seed: seed ?? randomInt(SEEDS) });
  }
  if (seed !== undefined) throw wrong('--seed', 'only together with --soak');
  if (reduced) {
    if (cases.length > 0) throw wrong('--case', 'not together with --reduced');
    const families = inOrder(REDUCED, { 'crash-windows': REDUCED_WINDOWS });
    return { kind: 'reduced', families, soak: null };
  }
  if (cases.length === 0) return { kind: 'full', families: fullMatrix(), soak: null };
  const wanted = new Set<FamilyName>(['baseline']);
  const windows: Partial<Record<FamilyName, readonly Boundary[]>> = {};
  for (const text of cases) {
    const { name, boundary } = named(text);
    wanted.add(name);
    if (boundary !== null) windows[name] = [...(windows[name] ?? []), boundary];
  }
  for (const name of [...FAMILY_NAMES].reverse()) {
    if (wanted.has(name)) for (const needed of FAMILIES[name].needs) wanted.add(needed);
  }
  return { kind: 'chosen', families: inOrder([...wanted], windows), soak: null };
}

/** The baseline, and then random faults that follow from the seed. */
export function soakPlan(soak: Soak): Plan {
  return { kind: 'soak', families: [...inOrder(['baseline'], {}), soakFamily(soak)], soak };
}

export function fullMatrix(): readonly NamedFamily[] {
  return inOrder(FAMILY_NAMES, {});
}

/** The same plan, where it is read from evidence: by the names of its cases and their windows. */
export function plannedAs(
  cases: readonly { readonly name: string; readonly windows: readonly string[] }[],
): readonly NamedFamily[] | null {
  const names = FAMILY_NAMES.filter((name) => cases.some((one) => one.name === name));
  if (names.length !== cases.length) return null;
  const windows: Partial<Record<FamilyName, readonly Boundary[]>> = {};
  for (const name of names) {
    const found = cases.find((one) => one.name === name)?.windows ?? [];
    windows[name] = BOUNDARIES.filter((boundary) => found.includes(boundary));
  }
  return inOrder(names, windows);
}

/** The boundaries that a plan kills at. */
export function windowsOf({ faults }: FamilyData): readonly Boundary[] {
  return faults.flatMap((fault) => (fault.kind === 'crash' ? [fault.boundary] : []));
}

/** @param windows those of a family that are asked for; all of a family that is not named */
function inOrder(
  names: readonly FamilyName[],
  windows: Partial<Readonly<Record<FamilyName, readonly Boundary[]>>>,
): readonly NamedFamily[] {
  return FAMILY_NAMES.filter((name) => names.includes(name)).map((name) => {
    const family = { ...FAMILIES[name], name };
    return withWindows(family, windows[name] ?? windowsOf(family));
  });
}

/** Only the windows that are asked for. */
function withWindows(family: NamedFamily, windows: readonly Boundary[]): NamedFamily {
  const others = windowsOf(family).filter((boundary) => !windows.includes(boundary));
  const isLeftOut = (what: string) => others.some((one) => what.startsWith(inWindow(one, '')));
  return {
    ...family,
    faults: family.faults.filter(
      (fault) => fault.kind !== 'crash' || !others.includes(fault.boundary),
    ),
    acceptance: Object.fromEntries(
      Object.entries(family.acceptance).filter(([what]) => !isLeftOut(what)),
    ),
  };
}

function wrong(field: string, problem: string): WaybillError {
  return new WaybillError('config_invalid', `${field}: ${problem}`, { field });
}

function named(text: string): { readonly name: FamilyName; readonly boundary: Boundary | null } {
  const [family = '', window] = text.split(':');
  const name = FAMILY_NAMES.find((one) => one === family);
  if (name !== undefined) {
    const boundary = windowsOf(FAMILIES[name]).find((one) => one === window) ?? null;
    if (window === undefined || boundary !== null) return { name, boundary };
  }
  const windows = name === undefined ? [] : windowsOf(FAMILIES[name]);
  const there =
    windows.length > 0
      ? windows.map((boundary) => `${family}:${boundary}`).join(', ')
      : FAMILY_NAMES.join(', ');
  throw wrong('--case', `there is no ${text}; there are ${there}`);
}
