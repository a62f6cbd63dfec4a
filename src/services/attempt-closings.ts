/** What ends at once is closed at once: attempts of a tenant share a statement and a commit (docs/decisions, 20). */
import { closeAttempts, type ClosingAttempt } from '../db/closings';
import { closeAttempt } from '../db/deliveries';
import type { Database } from '../db/database';
import type { TenantId } from '../domain/ids';
import type { CloseAttemptAnswer } from '../schemas/delivery-rows';
import { Groups } from './groups';

const AT_ONCE = 2;
/** Until it is closed an attempt takes room at its target. */
const SPACING_MS = 5;
/** Their rows are locked until the last of them is written. */
const GROUP_ATTEMPTS = 32;

export class AttemptClosings {
  readonly #groups: Groups<TenantId, ClosingAttempt, CloseAttemptAnswer>;

  /** @param data role waybill_data */
  constructor(data: Database) {
    this.#groups = new Groups({
      ...{ atOnce: AT_ONCE, spacingMs: SPACING_MS, maxItems: GROUP_ATTEMPTS },
      together: (tenant, closings) => closeAttempts(data, tenant, closings),
      alone: ({ at, close, receipt }) => closeAttempt(data, at, close, receipt),
    });
  }

  /** Closes it as `closeAttempt` does; it is committed when this resolves. */
  async close(closing: ClosingAttempt): Promise<CloseAttemptAnswer> {
    return await this.#groups.write(closing.at.tenantId, closing);
  }
}
