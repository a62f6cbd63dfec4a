/** Tasks of one tenant do not hold up those of the others (Temporal's fairness keys). */
import type { Priority } from '@temporalio/common';
import type { TenantId } from '../domain/ids';

/** Longest key that Temporal takes; tenant ids are ASCII. */
const KEY_BYTES = 64;

/** Behind all that are of Temporal's usual priority, 3. */
const LATER = 4;

/** `later`: what may wait until workers have nothing else to do. */
export function fairlyFor(tenantId: TenantId, urgency: 'usual' | 'later' = 'usual'): Priority {
  const fairnessKey = tenantId.slice(0, KEY_BYTES);
  return urgency === 'later' ? { fairnessKey, priorityKey: LATER } : { fairnessKey };
}
