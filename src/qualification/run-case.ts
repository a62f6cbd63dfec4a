/** One case: its faults, its proof, and what was found beside what is accepted. */
import { isDeepStrictEqual } from 'node:util';
import { PROOFS } from './cases';
import type { CaseContext, Observed } from './cases/context';
import type { CallRecord } from './client';
import type { CaseRecord } from './evidence/records';
import type { Fault } from './faults';
import { inflict } from './inflict';
import type { NamedFamily } from './plan';

export type CaseGround = Pick<
  CaseContext,
  'site' | 'client' | 'judge' | 'keep' | 'actionId' | 'shared' | 'soak'
>;

/** Never rejects: what cannot be carried through has failed. */
export async function runCase(ground: CaseGround, family: NamedFamily): Promise<CaseRecord> {
  const startedAt = new Date().toISOString();
  const found = new Map<string, Observed>();
  const inflicted: CaseRecord['inflicted'] = [];
  const calls: CallRecord[] = [];
  ground.client.noteTo((call) => calls.push(call));
  const noteFault = (fault: Fault): void => {
    inflicted.push({ at: new Date().toISOString(), fault: { ...fault } });
  };
  const context: CaseContext = {
    ...ground,
    family: family.name,
    faults: family.faults,
    observe: (what, actual) => found.set(what, actual),
    noteFault,
    inflict: async (fault) => {
      noteFault(fault);
      await inflict(ground.site, fault);
    },
  };
  let error: string | null = null;
  try {
    await PROOFS[family.name](context);
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const findings = Object.entries(family.acceptance).map(([what, accepted]) => ({
    ...{ what, accepted },
    found: found.get(what) ?? null,
  }));
  const record = { inflicted, findings, error };
  const { name, title, invariant } = family;
  const endedAt = new Date().toISOString();
  const status = caseProblems(family, record).length === 0 ? 'passed' : 'failed';
  return { case: name, title, invariant, startedAt, endedAt, status, ...record, calls };
}

/** Why a record does not prove its family; none: it does. */
export function caseProblems(
  family: NamedFamily,
  { inflicted, findings, error }: Pick<CaseRecord, 'inflicted' | 'findings' | 'error'>,
): string[] {
  const problems = error === null ? [] : [error];
  const done = inflicted.map(({ fault }) => fault);
  if (!isDeepStrictEqual(done, family.faults)) {
    problems.push(`not the faults of the family were inflicted: ${JSON.stringify(done)}`);
  }
  const found = new Map(findings.map((one) => [one.what, one.found]));
  for (const [what, accepted] of Object.entries(family.acceptance)) {
    const value = found.get(what) ?? null;
    if (value === null) problems.push(`${what}: was not looked at`);
    else if (value !== accepted) {
      problems.push(`${what}: ${JSON.stringify(value)} instead of ${JSON.stringify(accepted)}`);
    }
  }
  return problems;
}
