/** What a family of faults is, which there are and in which order, and what several of them accept. */
import { LANES, type Lane } from '../../domain/lanes';
import type { Boundary, Fault } from '../faults';

/** What must be found, by name; compared as JSON values. */
export type Acceptance = Readonly<Record<string, string | number | boolean>>;

export interface FamilyData {
  readonly title: string;
  readonly faults: readonly Fault[];
  /** For people; `acceptance` says the same to the machine. */
  readonly invariant: string;
  readonly acceptance: Acceptance;
  /** Families whose end it begins from; they run before it, also where it is asked for alone. */
  readonly needs: readonly FamilyName[];
}

export type NamedFamily = FamilyData & { readonly name: CaseName };

/** In the order in which they run; what is revoked last is never restored. */
export const FAMILY_NAMES = [
  'baseline',
  'credential-revocation',
  'credential-restore',
  'tenant-isolation',
  'gateway-failover',
  'graceful-failover',
  'lease-expiry',
  'host-recovery',
  'idempotent-replay',
  'crash-windows',
  'database-outage',
  'database-recovery',
  'worker-crash-windows',
  'gateway-crash-windows',
  'lost-answer',
  'cut-answer',
  'slow-answer',
  'late-request',
  'foreign-key',
  'replayed-token',
  'delivery-crash-windows',
  'target-down',
  'temporal-outage',
  'ingest-outage',
  'disk-full',
  'frozen-worker',
  'clock-jump',
  'admission-revocation',
] as const;
export type FamilyName = (typeof FAMILY_NAMES)[number];
/** A soak is no family of the matrix: its faults are those of its seed. */
export type CaseName = FamilyName | 'soak';

/** Of one action that had its effect: each of the records that prove it, once. */
export const ONE_OF_EACH: Acceptance = {
  'provider effects': 1,
  'approval requests': 1,
  'provider effects under that approval': 1,
  'provider creation audit events': 1,
  'settled idempotency results': 1,
  'terminal action results': 1,
  'receipt chains': 1,
};

/** Who makes the first attempt of a delivery of a lane: where it is another one, it is not that lane. */
const FIRST_BY: Readonly<Record<Lane, string>> = { durable: 'workflow', express: 'loop' };

/** Of one event of the vendor in each of these lanes. */
export function deliveredOnce(lanes: readonly Lane[] = LANES): Acceptance {
  const once = {
    'deliveries of the event': 1,
    state: 'Acknowledged',
    'the target took it': true,
    'delivery ids at the target': 1,
    'receipt chains': 1,
    'open attempts': 0,
    'attempts that overlap': 0,
  };
  return merged(
    lanes.map((lane) => ofEach([lane], { ...once, 'who made the first attempt': FIRST_BY[lane] })),
  );
}

/** Of so many events of the vendor in each lane. */
export function deliveredEach(count: number, acceptance: Acceptance): Acceptance {
  const each = {
    'deliveries of the events': count,
    'deliveries that were acknowledged': count,
    'attempts that overlap': 0,
    ...acceptance,
  };
  return merged(
    LANES.map((lane) => ofEach([lane], { ...each, 'who made the first attempts': FIRST_BY[lane] })),
  );
}

export function merged(acceptances: readonly Acceptance[]): Acceptance {
  return Object.assign({}, ...acceptances) as Acceptance;
}

/** What is accepted of several, by name. */
export function ofEach(names: readonly string[], acceptance: Acceptance): Acceptance {
  return Object.fromEntries(
    names.flatMap((name) =>
      Object.entries(acceptance).map(([what, expected]) => [of(name, what), expected]),
    ),
  );
}

/** The name of an observation of one of several. */
export function of(name: string, what: string): string {
  return `${name}: ${what}`;
}

/** The name of an observation that belongs to one window, or to what it is for one lane. */
export function inWindow(boundary: Boundary, what: string, lane: Lane | null = null): string {
  return of(boundary, lane === null ? what : of(lane, what));
}

/** What was durable at each boundary when the process was killed there, and what holds after each. */
export function ofEachWindow(
  durable: Partial<Readonly<Record<Boundary, Acceptance>>>,
  afterwards: Acceptance,
): Acceptance {
  const windows = Object.entries(durable) as [Boundary, Acceptance][];
  return Object.fromEntries(
    windows.flatMap(([boundary, acceptance]) =>
      Object.entries({ ...acceptance, ...afterwards }).map(([what, expected]) => [
        inWindow(boundary, what),
        expected,
      ]),
    ),
  );
}
