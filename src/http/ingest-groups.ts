/** What arrives at once is stored at once (docs/decisions, 16). */
import { ingestDeliveries, ingestDelivery, type VerifiedRequest } from '../db/deliveries';
import type { Database } from '../db/database';
import type { TenantId } from '../domain/ids';
import type { IngestAnswer } from '../schemas/delivery-rows';
import { Groups } from '../services/groups';
import type { DeliveryStarter } from './deps';

const AT_ONCE = 2;
const SPACING_MS = 5;
const GROUP_REQUESTS = 64;
const GROUP_BYTES = 4 * 1024 * 1024;

export class IngestGroups {
  readonly #groups: Groups<TenantId, VerifiedRequest, IngestAnswer>;

  constructor(data: Database, starter: Pick<DeliveryStarter, 'tells'>) {
    this.#groups = new Groups({
      ...{ atOnce: AT_ONCE, spacingMs: SPACING_MS, maxItems: GROUP_REQUESTS },
      size: { maxBytes: GROUP_BYTES, bytesOf: ({ payload }) => payload.length },
      together: (tenant, requests) => ingestDeliveries(data, tenant, requests, starter.tells()),
      alone: (request) => ingestDelivery(data, request, starter.tells()),
    });
  }

  /**
   * Stores the request; it is committed when this resolves.
   * @throws WaybillError as `ingestDelivery` does
   */
  async ingest(request: VerifiedRequest): Promise<IngestAnswer> {
    return await this.#groups.write(request.tenantId, request);
  }
}
