/** Where a new action of a capability would go; the same as ResolveCapability by gRPC. */
import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { capabilityCatalog } from '../db/capabilities';
import type { CapabilityCatalog } from '../domain/registry-ports';
import { CapabilityResolution, ResolveCapabilityQuery } from '../schemas/api-capabilities';
import { refusalWords } from '../services/actions/refusal-words';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { resolveFor } from './permitted-resolutions';
import { HttpProblem } from './problems';
import type { Principal } from './tokens';

const SCOPE = 'factory.catalog.read';

/** Registers the route on an instance that requires tokens. */
export function capabilityResolutionRoute(app: FastifyInstance, deps: HttpDeps): void {
  const catalog = capabilityCatalog(deps.data);
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'GET',
    url: '/v1/capability-resolution',
    config: { scope: SCOPE },
    schema: {
      operationId: 'resolveCapability',
      summary: 'Adapter and instance to which a new action of a capability or interface would go.',
      tags: ['catalog'],
      security: needs(SCOPE),
      querystring: ResolveCapabilityQuery,
      response: {
        200: answer('Whose binding has the best priority of those usable.', CapabilityResolution),
        ...problems([...EVERY_CALL, 'capability_unavailable', 'capability_not_permitted']),
      },
    },
    handler: (request) => resolve(catalog, principalOf(request), request.query),
  });
}

async function resolve(
  catalog: CapabilityCatalog,
  principal: Principal,
  { capabilityId, interface: interfaceName = '' }: z.output<typeof ResolveCapabilityQuery>,
): Promise<CapabilityResolution> {
  const wish = capabilityId === undefined ? { interfaceName } : { capabilityId };
  const resolved = await resolveFor(catalog, principal, wish);
  if (resolved.kind === 'binding_unavailable') {
    const extra = { reason: resolved.why };
    throw new HttpProblem('capability_unavailable', refusalWords(resolved).detail, { extra });
  }
  const { connectorId, version, provider, manifestDigest } = resolved;
  return {
    ...{ revision: resolved.revision, instanceId: resolved.instanceId },
    interface: resolved.interfaceName,
    adapter: { connectorId, version, provider, manifestDigest },
    capabilities: [...resolved.capabilities],
  };
}
