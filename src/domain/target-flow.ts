/** Pausing and resuming what deliveries go through. */
import type { TenantId } from './ids';

export interface SwitchWish {
  readonly tenantId: TenantId;
  /** Of the target or the subscription. */
  readonly id: string;
  /** False: resume. */
  readonly pause: boolean;
  readonly actor: string;
  readonly reason: string;
}

/** `unchanged`: it was so already. */
export const TARGET_SWITCHES = ['changed', 'unchanged', 'unknown'] as const;
/** `deactivated`: it receives nothing, and only a publication changes that. */
export const SUBSCRIPTION_SWITCHES = [...TARGET_SWITCHES, 'deactivated'] as const;

export const BREAKER_STATES = ['closed', 'open', 'half_open'] as const;
