/** Verifying a plan: every step judged at one revision of the catalog (docs/architecture, "Reading the catalog"). */
import { setImmediate as breathe } from 'node:timers/promises';
import type { TenantId } from '../domain/ids';
import type { CapabilityCatalog, PlannedContract } from '../domain/registry-ports';
import type { PlanAnswer, PlanStep } from '../schemas/api-plans';
import { canonicalJson } from '../schemas/canonical-json';
import { sizeProblem, type RequestChecks } from './actions/request-checks';

export interface PlanServices {
  readonly catalog: CapabilityCatalog;
  readonly checks: RequestChecks;
}

/**
 * What starting the steps as actions would meet at the revision that it answers. Nothing is reserved:
 * an action of the plan that is started with that revision is refused once the catalog has moved.
 * @throws WaybillError `storage_unavailable`
 */
export async function verifyPlan(
  { catalog, checks }: PlanServices,
  tenantId: TenantId,
  steps: readonly PlanStep[],
): Promise<PlanAnswer> {
  const ids = [...new Set(steps.map(({ capabilityId }) => capabilityId))];
  const { revision, contracts } = await catalog.contracts(tenantId, ids);
  const known = new Map(contracts.map((contract) => [contract.capabilityId, contract]));
  const judged: PlanAnswer['steps'] = [];
  for (const step of steps) {
    judged.push(judge(step, known.get(step.capabilityId), checks));
    // Others are served between two schemas that may be large.
    await breathe();
  }
  const verified = judged.every(({ visible, errors }) => visible && errors.length === 0);
  return { verified, revision, snapshotFencing: true, steps: judged };
}

function judge(
  { stepId, capabilityId, request }: PlanStep,
  contract: PlannedContract | undefined,
  checks: RequestChecks,
): PlanAnswer['steps'][number] {
  if (contract === undefined) {
    const unknown = { sideEffect: null, approvalNeeded: null };
    return { stepId, capabilityId, visible: false, errors: [], ...unknown };
  }
  const { sideEffect, approvalNeeded } = contract;
  const bytes = Buffer.from(canonicalJson(request));
  const problem = sizeProblem(bytes) ?? checks.problem(contract, request);
  const errors =
    problem === null ? [] : [{ field: problem.field ?? 'request', message: problem.detail }];
  return { stepId, capabilityId, visible: true, errors, sideEffect, approvalNeeded };
}
