/** Verifying a plan before any of its actions is started. */
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { capabilityCatalog } from '../db/capabilities';
import { PlanAnswer, VerifyPlanBody } from '../schemas/api-plans';
import { RequestChecks } from '../services/actions/request-checks';
import { verifyPlan } from '../services/plans';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { isNarrowed, permits } from './token-limits';
import type { Principal } from './tokens';

const SCOPE = 'factory.catalog.read';

/** Of all requests of a plan together. */
const PLAN_LIMIT_BYTES = 4_194_304;

const NOT_PERMITTED = {
  field: 'capabilityId',
  message: 'is not one that this token allows, or its side effects go too far for it',
};

/** Registers the route on an instance that requires tokens. */
export function planRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const services = { catalog: capabilityCatalog(deps.data), checks: new RequestChecks() };
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/v1/plans/verify',
    bodyLimit: PLAN_LIMIT_BYTES,
    config: { scope: SCOPE, sideEffects: 'read' },
    schema: {
      operationId: 'verifyPlan',
      summary: 'Judges all steps of a plan at one revision of the catalog; starts nothing.',
      tags: ['catalog'],
      security: needs(SCOPE),
      body: VerifyPlanBody,
      response: {
        200: answer('Each step, and whether all of them can be started.', PlanAnswer),
        ...problems([...EVERY_CALL, 'body_too_large']),
      },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const judged = await verifyPlan(services, principal.tenantId, request.body.steps);
      return isNarrowed(principal) ? within(principal, judged) : judged;
    },
  });
}

/** Steps that the token may not start have that as an error, too. */
function within(principal: Principal, plan: PlanAnswer): PlanAnswer {
  const steps = plan.steps.map((step) =>
    !step.visible || permits(principal, step)
      ? step
      : { ...step, errors: [...step.errors, NOT_PERMITTED] },
  );
  const verified = steps.every(({ visible, errors }) => visible && errors.length === 0);
  return { ...plan, verified, steps };
}
