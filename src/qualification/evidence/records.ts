/** The files of a run's evidence: what a run writes, and what is read again to verify it. */
import { z } from 'zod';
import { Source } from './origin';

const Instant = z.iso.datetime();
const Status = z.enum(['passed', 'failed']);
const PlanKind = z.enum(['full', 'reduced', 'chosen', 'soak']);
const Observed = z.union([z.string(), z.number(), z.boolean()]);

export const Claim = z.object({ runId: z.string(), startedAt: Instant, pid: z.int() });

export const PlanRecord = z.object({
  kind: PlanKind,
  /** What the faults of a soak follow from. */
  soak: z.object({ seed: z.int(), durationMs: z.int() }).optional(),
  cases: z.array(
    z.looseObject({
      name: z.string(),
      faults: z.array(z.looseObject({ kind: z.string(), boundary: z.string().optional() })),
      invariant: z.string(),
      acceptance: z.record(z.string(), Observed),
    }),
  ),
});
export type PlanRecord = z.infer<typeof PlanRecord>;

export const CaseRecord = z.object({
  case: z.string(),
  title: z.string(),
  invariant: z.string(),
  startedAt: Instant,
  endedAt: Instant,
  status: Status,
  /** What was really done, in order. */
  inflicted: z.array(z.object({ at: Instant, fault: z.looseObject({ kind: z.string() }) })),
  /** What was found, by name, beside what is accepted. */
  findings: z.array(z.object({ what: z.string(), accepted: Observed, found: Observed.nullable() })),
  /** Why it could not be carried through; null: it was. */
  error: z.string().nullable(),
  calls: z.array(z.unknown()),
});
export type CaseRecord = z.infer<typeof CaseRecord>;

export const MatrixLine = z.object({
  seq: z.int(),
  case: z.string(),
  status: z.enum(['passed', 'failed', 'complete']),
  detail: z.string(),
  at: Instant,
});
export type MatrixLine = z.infer<typeof MatrixLine>;

export const Summary = z.object({
  status: Status,
  runId: z.string(),
  plan: PlanKind,
  startedAt: Instant,
  completedAt: Instant,
  cases: z.object({ planned: z.int(), passed: z.int(), failed: z.int() }),
  /** What was wrong, in words; none where it passed. */
  failures: z.array(z.string()),
  source: Source,
});
export type Summary = z.infer<typeof Summary>;

export const BaselineSummary = z.object({
  status: Status,
  cases: z.int(),
  gateways: z.int(),
  connector_instances: z.int(),
  connector_replicas: z.int(),
});

export const OperationLine = z.object({
  no: z.int(),
  operation: z.string(),
  tenant: z.string(),
  gateway: z.string().nullable(),
  at: Instant,
  status: Status,
  answer: z.string(),
  response: z.string(),
});

export const Teardown = z.object({
  at: Instant,
  processesLeft: z.array(z.string()),
  endedByThemselves: z.array(z.string()),
  secretsInLogs: z.record(z.string(), z.int()),
  workspaceRemoved: z.boolean(),
});
export type Teardown = z.infer<typeof Teardown>;

export const Digests = z.object({
  algorithm: z.literal('sha256'),
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
});

/** Where each stands below the folder. */
export const FILES = {
  plan: 'plan.json',
  summary: 'summary.json',
  matrix: 'failure-matrix.jsonl',
  baseline: 'qualification/summary.json',
  operations: 'qualification/operations.jsonl',
  source: 'source.json',
  environment: 'environment.json',
  topology: 'topology.json',
  registry: 'registry-final-state.json',
  events: 'process-events.jsonl',
  processes: 'processes.json',
  keys: 'receipt-keys.json',
  teardown: 'teardown.json',
  report: 'report.html',
  work: 'soak/work.json',
  ledger: 'soak/ledger.json',
} as const;

export function caseFile(no: number, name: string): string {
  return `cases/${String(no).padStart(2, '0')}-${name}.json`;
}

/** The files of one crash window, or of what it is for one lane. */
export function windowFolder(family: string, boundary: string, lane: string | null): string {
  return [`crash/${family}/${boundary}`, ...(lane === null ? [] : [lane])].join('/');
}
