/** The conformance suite as everybody knows it: its version, its groups, and what a case comes to. */

/** Grows when a case is added, dropped or judged otherwise: a version passes one suite, not all. */
export const SUITE_VERSION = '1';

/** In the order in which they run. Where a case of the first fails, nothing behind it means anything. */
export const CONFORMANCE_GROUPS = [
  'basics',
  'tokens',
  'capabilities',
  'fences',
  'recovery',
  'webhooks',
  'lifecycle',
] as const;
export type ConformanceGroup = (typeof CONFORMANCE_GROUPS)[number];

export const CASE_VERDICTS = ['passed', 'failed', 'skipped'] as const;
export type CaseVerdict = (typeof CASE_VERDICTS)[number];

/** One request and what came back, in words; bounded, and without the signatures. */
export interface CaseExchange {
  readonly sent: string;
  readonly cameBack: string;
}

export interface CaseResult {
  /** `group/case`, or `group/case/capability`. */
  readonly id: string;
  readonly group: ConformanceGroup;
  /** The heading of docs/host-protocol that says so, and the rule in a sentence. */
  readonly rule: string;
  readonly verdict: CaseVerdict;
  /** Why it failed or was skipped; null where it passed. */
  readonly why: string | null;
  /** Milliseconds since the epoch. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  readonly exchanges: readonly CaseExchange[];
}

export interface CaseCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

export function countCases(cases: readonly Pick<CaseResult, 'verdict'>[]): CaseCounts {
  const count = (wanted: CaseVerdict) => cases.filter(({ verdict }) => verdict === wanted).length;
  return { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
}
