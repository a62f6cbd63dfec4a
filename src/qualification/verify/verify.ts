/**
 * Checks the evidence of a run offline: nothing is missing, altered, left over or in contradiction to the rest.
 * No status is believed that can be computed anew from what was found.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { DIGESTS_FILE, CLAIM_FILE, digestsOf, sha256 } from '../evidence/folder';
import { Source } from '../evidence/origin';
import {
  Claim,
  Digests,
  FILES,
  MatrixLine,
  PlanRecord,
  Summary,
  Teardown,
} from '../evidence/records';
import { fullMatrix, plannedAs, soakPlan, type NamedFamily } from '../plan';
import { teardownProblems } from '../run-files';
import { checkBaseline, checkCases } from './cases';
import { EvidenceFiles } from './evidence-files';

export interface EvidenceVerdict {
  readonly ok: boolean;
  readonly plan: string | null;
  readonly cases: number;
  /** In words, those of whole files first. */
  readonly problems: readonly string[];
}

/**
 * Never throws for anything that a folder may hold.
 * @param digest what the run printed; null: the list of digests is believed
 */
export async function verifyEvidence(
  folder: string,
  digest: string | null,
): Promise<EvidenceVerdict> {
  const files = new EvidenceFiles(folder);
  checkDigests(files, folder, digest);
  const summary = files.json(FILES.summary, Summary);
  const families = checkPlan(files);
  if (summary !== null) checkSummary(files, summary, families.length);
  checkMatrix(files, families);
  checkBaseline(files);
  await checkCases(files, families, summary);
  for (const name of [FILES.environment, FILES.topology, FILES.registry, FILES.processes]) {
    files.json(name, z.unknown());
  }
  files.json(FILES.source, Source);
  files.text(FILES.report);
  const teardown = files.json(FILES.teardown, Teardown);
  if (teardown !== null) for (const one of teardownProblems(teardown)) files.problem(one);
  const { problems } = files;
  return {
    ok: problems.length === 0,
    plan: summary?.plan ?? null,
    cases: families.length,
    problems,
  };
}

function checkDigests(files: EvidenceFiles, folder: string, digest: string | null): void {
  const listed = files.json(DIGESTS_FILE, Digests)?.files;
  if (listed === undefined) return;
  if (digest !== null && sha256(readFileSync(path.join(folder, DIGESTS_FILE))) !== digest) {
    files.problem(`${DIGESTS_FILE} is not the one with the digest that was given`);
  }
  const actual = digestsOf(folder);
  for (const [name, expected] of Object.entries(listed)) {
    if (actual[name] === undefined) files.problem(`${name} is missing`);
    else if (actual[name] !== expected) files.problem(`${name} was altered`);
  }
  for (const name of Object.keys(actual)) {
    if (listed[name] === undefined) files.problem(`${name} is not one of the run's files`);
    if (holdsSecret(readFileSync(path.join(folder, name), 'utf8'))) {
      files.problem(`${name} holds what looks like a secret`);
    }
  }
}

/** A private key, or an address with a password. */
function holdsSecret(text: string): boolean {
  return /PRIVATE KEY-----|"d"\s*:\s*"[\w-]{43}"|postgres(ql)?:\/\/[^\s:@/]+:(?!\[redacted\])[^\s@/]+@/.test(
    text,
  );
}

/** What the plan says must be what this version proves; the names alone are taken from it, or a soak's seed. */
function checkPlan(files: EvidenceFiles): readonly NamedFamily[] {
  const plan = files.json(FILES.plan, PlanRecord);
  if (plan === null) return [];
  const families =
    plan.soak === undefined
      ? plannedAs(
          plan.cases.map(({ name, faults }) => ({
            name,
            windows: faults.flatMap(({ boundary }) => boundary ?? []),
          })),
        )
      : soakPlan(plan.soak).families;
  if ((plan.kind === 'soak') !== (plan.soak !== undefined)) {
    files.problem(`${FILES.plan} does not say which soak it is`);
  }
  if (families === null || !isDeepStrictEqual(plan.cases, json(families))) {
    files.problem(`${FILES.plan} is not a plan of this version's matrix`);
    return [];
  }
  if (plan.kind === 'full' && families.length < fullMatrix().length) {
    files.problem(`${FILES.plan} says that it is full, and leaves cases out`);
  }
  return families;
}

function checkSummary(files: EvidenceFiles, summary: Summary, planned: number): void {
  const { status, failures, cases, startedAt, completedAt, runId, plan } = summary;
  if (status !== 'passed') files.problem(`the run failed: ${failures.join('; ')}`);
  if (status === 'passed' && failures.length > 0) {
    files.problem(`${FILES.summary} says passed and names failures`);
  }
  if (!isDeepStrictEqual(cases, { planned, passed: planned, failed: 0 })) {
    files.problem(`${FILES.summary} counts other cases than were planned`);
  }
  if (completedAt < startedAt) files.problem(`${FILES.summary} ends before it begins`);
  const claim = files.json(CLAIM_FILE, Claim);
  if (claim !== null && claim.runId !== runId) files.problem(`${CLAIM_FILE} is of another run`);
  if (files.json(FILES.plan, PlanRecord)?.kind !== plan) {
    files.problem(`${FILES.summary} and ${FILES.plan} are of different kinds`);
  }
  const source = files.json(FILES.source, Source);
  if (source !== null && !isDeepStrictEqual(source, summary.source)) {
    files.problem(`${FILES.summary} and ${FILES.source} name different sources`);
  }
}

/** Every planned case once, in order, passed, and the end after them. */
function checkMatrix(files: EvidenceFiles, families: readonly NamedFamily[]): void {
  const lines = files.lines(FILES.matrix, MatrixLine);
  const expected = [...families.map(({ name }) => name), 'complete'];
  if (
    !isDeepStrictEqual(
      lines.map((line) => line.case),
      expected,
    )
  ) {
    files.problem(
      `${FILES.matrix} has not each planned case once, in order, and complete at its end`,
    );
  }
  for (const [index, line] of lines.entries()) {
    const wanted = line.case === 'complete' ? 'complete' : 'passed';
    if (line.status !== wanted) files.problem(`${line.case}: the matrix says ${line.status}`);
    if (line.seq !== index + 1)
      files.problem(`${FILES.matrix} is not numbered from 1 without a gap`);
    const before = lines[index - 1];
    if (before !== undefined && line.at < before.at)
      files.problem(`${FILES.matrix} runs backwards`);
  }
}

function json(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
