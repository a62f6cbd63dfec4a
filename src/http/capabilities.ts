/** The catalog as the token's tenant sees it, a page at one revision each. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { capabilityCatalog } from '../db/capabilities';
import { WaybillError } from '../domain/errors';
import type { CapabilityCatalog, CapabilityDefinition } from '../domain/registry-ports';
import {
  CapabilityDetail,
  CapabilityPage,
  CapabilityParams,
  ListCapabilitiesQuery,
  ShowCapabilityQuery,
  type Capability,
} from '../schemas/api-capabilities';
import { principalOf, requireScope } from './authorization';
import { readCursor, writeCursor, type CursorScope } from './cursors';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { permits, requirePermitted } from './token-limits';

const SCOPE = 'factory.catalog.read';
const INTERNAL = 'factory.catalog.internal';

/** Registers the routes on an instance that requires tokens. */
export function capabilityRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  const catalog = capabilityCatalog(deps.data);
  typed.route({
    method: 'GET',
    url: '/v1/capabilities',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listCapabilities',
      summary: 'Capabilities that the tenant can use, by id, at one revision of the catalog.',
      tags: ['catalog'],
      security: needs(SCOPE),
      querystring: ListCapabilitiesQuery,
      response: {
        200: answer('One page.', CapabilityPage),
        ...problems([...EVERY_CALL, 'invalid_cursor', 'stale_cursor']),
      },
    },
    handler: (request) => listPage({ catalog, cursorKey: deps.cursorKey }, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/v1/capabilities/:capabilityId',
    config: { scope: SCOPE },
    schema: {
      operationId: 'showCapability',
      summary: 'One capability with its contract.',
      tags: ['catalog'],
      security: needs(SCOPE),
      params: CapabilityParams,
      querystring: ShowCapabilityQuery,
      response: {
        200: answer('The capability, and the revision of the catalog.', CapabilityDetail),
        ...problems([...EVERY_CALL, 'capability_unavailable', 'capability_not_permitted']),
      },
    },
    handler: (request) => show(catalog, request, { ...request.params, ...request.query }),
  });
}

async function listPage(
  { catalog, cursorKey }: { readonly catalog: CapabilityCatalog; readonly cursorKey: Uint8Array },
  request: FastifyRequest,
  { limit, cursor, ...filters }: z.output<typeof ListCapabilitiesQuery>,
): Promise<CapabilityPage> {
  const principal = principalOf(request);
  const { tenantId } = principal;
  if (filters.unbound === true) requireScope(request, INTERNAL);
  const scope: CursorScope = { list: 'capabilities', tenantId, filters };
  const { search = null, capabilityId = null, profile = null, unbound = false } = filters;
  const page = await catalog.page({
    ...{ tenantId, search, capabilityId, interfaceName: filters.interface ?? null, profile },
    ...{ unbound, limit, after: cursor === undefined ? null : position(cursorKey, scope, cursor) },
  });
  const { revision } = page;
  if (page.kind === 'stale_cursor') {
    throw new WaybillError('stale_cursor', '', { field: 'cursor' });
  }
  const { next } = page;
  return {
    revision,
    capabilities: page.capabilities.filter((one) => permits(principal, one)).map(shown),
    nextCursor: next === null ? null : writeCursor(cursorKey, scope, [String(revision), next]),
  };
}

async function show(
  catalog: CapabilityCatalog,
  request: FastifyRequest,
  {
    capabilityId,
    unbound = false,
  }: { readonly capabilityId: string; readonly unbound?: boolean | undefined },
): Promise<CapabilityDetail> {
  const principal = principalOf(request);
  const { tenantId } = principal;
  if (unbound) requireScope(request, INTERNAL);
  const any = { search: null, interfaceName: null, profile: null };
  const page = await catalog.page({
    ...any,
    ...{ tenantId, capabilityId, unbound, after: null, limit: 1 },
  });
  const [found] = page.kind === 'page' ? page.capabilities : [];
  if (found === undefined) throw new WaybillError('capability_unavailable');
  requirePermitted(principal, found);
  return { ...shown(found), revision: page.revision };
}

function position(cursorKey: Uint8Array, scope: CursorScope, cursor: string) {
  const [revision, capabilityId] = readCursor(cursorKey, scope, cursor);
  return { revision: Number(revision), capabilityId };
}

function shown({ interfaceName, ...rest }: CapabilityDefinition): Capability {
  return { ...rest, interface: interfaceName, profiles: [...rest.profiles] };
}
