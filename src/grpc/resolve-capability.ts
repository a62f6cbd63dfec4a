/** ResolveCapability: where a new action would go (docs/architecture, "Reading the catalog"). */
import type { ResolutionWish } from '../domain/capability-resolution';
import { resolveFor } from '../http/permitted-resolutions';
import { ResolveCapabilityRequest } from '../schemas/grpc-messages';
import { refusalWords } from '../services/actions/refusal-words';
import type { Method } from './calls';
import type { GrpcDeps } from './deps';
import { ReasonedRefusal } from './refusals';

export interface ResolveCapabilityResponse {
  readonly adapter: {
    readonly connectorId: string;
    readonly version: string;
    readonly provider: string;
    readonly manifestDigest: string;
  };
  readonly instanceId: string;
  readonly interface: string;
  readonly capabilities: readonly Readonly<Record<string, string | number>>[];
  readonly revision: number;
}

export function resolveCapability({
  catalog,
  log,
}: GrpcDeps): Method<typeof ResolveCapabilityRequest, ResolveCapabilityResponse> {
  return {
    name: 'ResolveCapability',
    request: ResolveCapabilityRequest,
    async answer(request, { principal, requestId }) {
      const { tenantId } = principal;
      const { projectId } = request;
      if (projectId !== undefined) log.debug({ requestId, tenantId, projectId }, 'resolving');
      const answer = await resolveFor(catalog, principal, wishOf(request));
      if (answer.kind === 'binding_unavailable') {
        throw new ReasonedRefusal('capability_unavailable', refusalWords(answer));
      }
      const { connectorId, version, provider, manifestDigest, instanceId, revision } = answer;
      return {
        adapter: { connectorId, version, provider, manifestDigest },
        ...{ instanceId, interface: answer.interfaceName, revision },
        capabilities: answer.capabilities.map((capability) => ({ ...capability })),
      };
    },
  };
}

function wishOf(request: ResolveCapabilityRequest): ResolutionWish {
  return request.wanted === 'capabilityId'
    ? { capabilityId: request.capabilityId ?? '' }
    : { interfaceName: request.interface ?? '' };
}
