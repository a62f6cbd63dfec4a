/** Tasks of one tenant do not hold up those of the others (Temporal's fairness keys). */
import type { Priority } from '@temporalio/common';
import type { TenantId } from '../domain/ids';

/** Longest key that Temporal takes; tenant ids are ASCII. */
const KEY_BYTES = 64;

export function fairlyFor(tenantId: TenantId): Priority {
  return { fairnessKey: tenantId.slice(0, KEY_BYTES) };
}
