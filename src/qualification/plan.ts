/** Which families a run proves: all, a reduced set, or those that are asked for with what they need. */
import { WaybillError } from '../domain/errors';
import { FAMILIES, FAMILY_NAMES, inWindow, type Family, type FamilyName } from './families';
import { CRASH_BOUNDARIES, type CrashBoundary } from './faults';

export type PlanKind = 'full' | 'reduced' | 'chosen';

export interface Plan {
  readonly kind: PlanKind;
  readonly families: readonly NamedFamily[];
}

export type NamedFamily = Omit<Family, 'name'> & { readonly name: FamilyName };

/** For a pipeline that has a minute: the invariants that everything rests on. */
const REDUCED: readonly FamilyName[] = [
  'baseline',
  'idempotent-replay',
  'crash-windows',
  'database-outage',
  'database-recovery',
];
const REDUCED_WINDOWS: readonly CrashBoundary[] = ['intent_persisted', 'provider_effect_committed'];

/**
 * @param cases names of families, or `crash-windows:BOUNDARY`; none: all of them
 * @throws WaybillError `config_invalid` naming what there is, for a name that there is not
 */
export function planOf(options: {
  readonly cases: readonly string[];
  readonly reduced: boolean;
}): Plan {
  if (options.reduced) {
    return { kind: 'reduced', families: inOrder(REDUCED, REDUCED_WINDOWS) };
  }
  if (options.cases.length === 0) return { kind: 'full', families: fullMatrix() };
  const wanted = new Set<FamilyName>(['baseline']);
  const windows = new Set<CrashBoundary>();
  for (const text of options.cases) {
    const { name, boundary } = named(text);
    wanted.add(name);
    if (boundary !== null) windows.add(boundary);
  }
  for (const name of [...FAMILY_NAMES].reverse()) {
    if (wanted.has(name)) for (const needed of FAMILIES[name].needs) wanted.add(needed);
  }
  return {
    kind: 'chosen',
    families: inOrder([...wanted], windows.size === 0 ? CRASH_BOUNDARIES : [...windows]),
  };
}

export function fullMatrix(): readonly NamedFamily[] {
  return inOrder(FAMILY_NAMES, CRASH_BOUNDARIES);
}

/** The same plan, where it is read from evidence: by the names of its cases and windows. */
export function plannedAs(
  names: readonly string[],
  windows: readonly string[],
): readonly NamedFamily[] | null {
  const known = FAMILY_NAMES.filter((name) => names.includes(name));
  const boundaries = CRASH_BOUNDARIES.filter((boundary) => windows.includes(boundary));
  if (known.length !== names.length || boundaries.length !== windows.length) return null;
  return inOrder(known, boundaries);
}

/** The boundaries that a plan kills at. */
export function windowsOf({ faults }: NamedFamily): readonly CrashBoundary[] {
  return faults.flatMap((fault) => (fault.kind === 'crash' ? [fault.boundary] : []));
}

function inOrder(
  names: readonly FamilyName[],
  windows: readonly CrashBoundary[],
): readonly NamedFamily[] {
  return FAMILY_NAMES.filter((name) => names.includes(name)).map((name) =>
    withWindows({ ...FAMILIES[name], name }, windows),
  );
}

/** Only the windows that are asked for. */
function withWindows(family: NamedFamily, windows: readonly CrashBoundary[]): NamedFamily {
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

function named(text: string): {
  readonly name: FamilyName;
  readonly boundary: CrashBoundary | null;
} {
  const [family = '', window] = text.split(':');
  const name = FAMILY_NAMES.find((one) => one === family);
  const boundary = CRASH_BOUNDARIES.find((one) => one === window) ?? null;
  const isKnown = name !== undefined && (window === undefined || boundary !== null);
  if (isKnown && (boundary === null || name === 'crash-windows')) return { name, boundary };
  throw new WaybillError(
    'config_invalid',
    `--case: there is no ${text}; there are ${FAMILY_NAMES.join(', ')}, and crash-windows with ` +
      `one of :${CRASH_BOUNDARIES.join(', :')}`,
    { field: '--case' },
  );
}
