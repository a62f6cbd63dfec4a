/** What the API needs to have a version certified. */
import { WaybillError } from '../domain/errors';
import type { HttpDeps } from '../http/deps';
import type { SigningKey } from '../signing/keys';
import type { CertificationWorkflows } from '../temporal/certification-starter';

export function certifying(
  workflows: CertificationWorkflows,
  { publicJwk }: SigningKey,
): HttpDeps['certifications'] {
  return {
    signer: publicJwk.x,
    start: async (tenantId, ref) => {
      try {
        await workflows.start(tenantId, ref);
      } catch (error) {
        const detail = 'the run is noted; ask again once the Temporal server answers';
        throw new WaybillError('temporal_unreachable', detail, { cause: error });
      }
    },
  };
}
