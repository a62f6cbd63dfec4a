/** Certification: the contract between its workflow and its activities. Counts and names only. */
import type { CaseCounts, ConformanceGroup } from './conformance';

export const CERTIFICATION_STATES = ['running', 'passed', 'failed'] as const;
export type CertificationState = (typeof CERTIFICATION_STATES)[number];

/** What stands against trying a version on an instance, also once it is under way. */
export const CERTIFICATION_FAULTS = [
  'revoked',
  'unknown_instance',
  'connector_disabled',
  'instance_serves',
] as const;
export type CertificationFault = (typeof CERTIFICATION_FAULTS)[number];

/** One run of one suite over one version. */
export interface CertificationRef {
  readonly connectorId: string;
  readonly version: string;
  readonly suiteVersion: string;
  /** Grows when a failed certification is asked for again. */
  readonly run: number;
}

/** Input of the workflow `certify`. */
export interface CertificationInput extends CertificationRef {
  /** How long the sandbox's host is waited for. */
  readonly hostWaitMs: number;
  /** A worker that is silent for longer than this is taken for lost. */
  readonly heartbeatMs: number;
}

export type GroupOutcome =
  | {
      readonly kind: 'tried';
      readonly counts: CaseCounts;
      /** Ids of the cases that failed. */
      readonly failed: readonly string[];
    }
  /** The version was revoked, or the instance is no sandbox of it any more; `why` for people. */
  | { readonly kind: 'unfit'; readonly why: string }
  /** No host of the sandbox is registered now. */
  | { readonly kind: 'no_host'; readonly instanceId: string }
  /** The run is over, or another one is under way. */
  | { readonly kind: 'over' };

export interface CertificationEnd {
  readonly state: CertificationState | 'over';
}

export interface CertificationActivities {
  /** Tries the cases of a group, and keeps what they came to; a group that was tried is only told. */
  readonly tryConformanceGroup: (
    request: CertificationRef & { readonly group: ConformanceGroup },
  ) => Promise<GroupOutcome>;
  /** Judges what was tried; with evidence where all of it passed. `reason` fails it without a case. */
  readonly concludeCertification: (
    request: CertificationRef & { readonly reason: string | null },
  ) => Promise<CertificationEnd>;
}

/** What the Temporal UI shows of a run. */
export function certificationDetails(
  { connectorId, version, suiteVersion }: CertificationRef,
  tried: readonly { readonly group: ConformanceGroup; readonly outcome: GroupOutcome }[],
  doing: string,
): string {
  const lines = tried.map(({ group, outcome }) => {
    if (outcome.kind !== 'tried') return `- ${group}: ${outcome.kind}`;
    const { passed, failed, skipped } = outcome.counts;
    const names = outcome.failed.length === 0 ? '' : `: ${outcome.failed.join(', ')}`;
    return `- ${group}: ${passed} passed, ${skipped} skipped, ${failed} failed${names}`;
  });
  const title = `**Certifying ${connectorId} ${version}** by suite ${suiteVersion}: ${doing}`;
  return [title, ...lines].join('\n');
}
