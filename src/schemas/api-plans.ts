/** Plans as the API takes and answers them. */
import { z } from 'zod';
import { SIDE_EFFECTS } from '../domain/capabilities';
import { PLAIN_TEXT } from './api-common';
import { isShallow, MAX_NESTING } from './nesting';

export const MAX_PLAN_STEPS = 100;

const StepId = z
  .string()
  .min(1)
  .max(200)
  .regex(PLAIN_TEXT, 'must not contain control characters')
  .describe('A name of the caller’s, once in the plan.');

const PlanStep = z.strictObject({
  stepId: StepId,
  capabilityId: z.string().min(1).max(200).regex(PLAIN_TEXT, 'must not contain control characters'),
  request: z
    .unknown()
    .refine((value) => value !== undefined, 'is missing')
    .refine((value) => isShallow(value, MAX_NESTING), `is nested deeper than ${MAX_NESTING} levels`)
    .describe('As the action will be started with.'),
  dependsOn: z
    .array(StepId)
    .max(MAX_PLAN_STEPS)
    .default([])
    .describe('Steps that come before it; none without it.'),
});
export type PlanStep = z.output<typeof PlanStep>;

interface PlanFault {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export const VerifyPlanBody = z
  .strictObject({ steps: z.array(PlanStep).min(1).max(MAX_PLAN_STEPS) })
  .superRefine(({ steps }, context) => {
    for (const { path, message } of planFaults(steps)) {
      context.addIssue({ code: 'custom', path: ['steps', ...path], message });
    }
  });

export const PlanAnswer = z
  .object({
    verified: z.boolean().describe('Every step is visible, and its request fits.'),
    revision: z
      .int()
      .describe('The revision of the catalog at which all steps were judged: ifCatalogRevision.'),
    snapshotFencing: z
      .literal(true)
      .describe('An action started with ifCatalogRevision is refused once the catalog has moved.'),
    steps: z
      .array(
        z.object({
          stepId: z.string(),
          capabilityId: z.string(),
          visible: z.boolean().describe('Whether the tenant can use the capability.'),
          errors: z
            .array(z.object({ field: z.string(), message: z.string() }))
            .describe('Where the request does not fit; the first place that was found.'),
          sideEffect: z.enum(SIDE_EFFECTS).nullable().describe('Null where it is not visible.'),
          approvalNeeded: z.boolean().nullable().describe('Null where it is not visible.'),
        }),
      )
      .describe('In the order of the plan.'),
  })
  .meta({ id: 'PlanAnswer' });
export type PlanAnswer = z.infer<typeof PlanAnswer>;

/** Ids that are there twice, dependencies that are not there, and a circle of them. */
function planFaults(steps: readonly PlanStep[]): PlanFault[] {
  const places = new Map(steps.map(({ stepId }, at) => [stepId, at]));
  const twice = steps.flatMap(({ stepId }, at) =>
    places.get(stepId) === at ? [] : [{ path: [at, 'stepId'], message: 'is there twice' }],
  );
  const unknown = steps.flatMap(({ dependsOn }, at) =>
    dependsOn.flatMap((id, nth) =>
      places.has(id)
        ? []
        : [{ path: [at, 'dependsOn', nth], message: 'names no step of this plan' }],
    ),
  );
  const faults = [...twice, ...unknown];
  return faults.length > 0 ? faults : circleFaults(steps);
}

/** Steps are done as soon as all before them are; one that never can be waits for itself. */
function circleFaults(steps: readonly PlanStep[]): PlanFault[] {
  const done = new Set<string>();
  let left = [...steps];
  for (;;) {
    const free = left.filter(({ dependsOn }) => dependsOn.every((id) => done.has(id)));
    if (free.length === 0) break;
    for (const { stepId } of free) done.add(stepId);
    left = left.filter(({ stepId }) => !done.has(stepId));
  }
  const [first] = left;
  if (first === undefined) return [];
  const message = 'waits, over others or at once, for a step that waits for itself';
  return [{ path: [steps.indexOf(first), 'dependsOn'], message }];
}
