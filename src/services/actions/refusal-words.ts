/** Why an action has no route now, or never will: a stable reason and a sentence. */
import type { BindingFault, QuotaScope, ReplicaFault, ReserveAnswer } from '../../domain/routes';

export interface Words {
  readonly reason: string;
  readonly detail: string;
}

type Refusal =
  | Extract<
      ReserveAnswer,
      {
        kind:
          | 'conflict'
          | 'binding_unavailable'
          | 'replica_unavailable'
          | 'capacity_exceeded'
          | 'rate_limited';
      }
    >
  | { readonly kind: 'contended' | 'recovering' | 'deadline' }
  | { readonly kind: 'budget'; readonly attempts: number }
  | { readonly kind: 'no_route'; readonly why: Words };

export function refusalWords(refusal: Refusal): Words {
  switch (refusal.kind) {
    case 'conflict':
      return { reason: 'action_conflict', detail: refusal.detail };
    case 'binding_unavailable':
      return { reason: `binding_unavailable.${refusal.why}`, detail: BINDING[refusal.why] };
    case 'replica_unavailable':
      return { reason: `replica_unavailable.${refusal.why}`, detail: REPLICA[refusal.why] };
    case 'capacity_exceeded':
      return { reason: `capacity_exceeded.${refusal.scope}`, detail: SCOPE[refusal.scope] };
    case 'rate_limited':
      return {
        reason: 'rate_limited',
        detail: `instance ${refusal.instanceId} has used up its rate for now`,
      };
    case 'contended':
      return { reason: 'contended', detail: 'others reserve at this very moment' };
    case 'recovering':
      return {
        reason: 'recovering',
        detail: 'the deployment recovers from a restore; `waybill recover --release` lets it go on',
      };
    case 'deadline':
      return { reason: 'deadline_exceeded', detail: 'its deadline has passed' };
    case 'budget':
      return {
        reason: 'retry_budget_exhausted',
        detail: `${refusal.attempts} attempts were made, and no more are allowed`,
      };
    case 'no_route':
      return {
        reason: 'deadline_exceeded',
        detail: `its deadline has passed without a route: ${refusal.why.detail}`,
      };
  }
}

const BINDING: Readonly<Record<BindingFault, string>> = {
  no_binding: 'the tenant has no binding for this capability',
  binding_disabled: 'the binding is disabled',
  instance_disabled: 'the instance of the binding is not enabled',
  connector_disabled: 'the connector is disabled',
  version_not_active: 'the connector version is not active',
  evidence_expired: 'evidence that is required of the connector version is missing or has expired',
  capability_not_offered: 'the connector version does not offer this capability',
  credential_revoked: 'the credential of the binding is revoked',
  affinity_unavailable: 'the account of this conversation cannot be used',
};

const REPLICA: Readonly<Record<ReplicaFault, string>> = {
  none_registered: 'no host of the instance is registered',
  none_ready: 'no host of the instance is ready',
  at_capacity: 'every host of the instance has as much work as it takes',
  circuit_open: 'the hosts of the instance did not answer lately and are given a pause',
  wrong_topology: 'no host of the instance is where this deployment may go',
  pinned_unavailable: 'the host of its route cannot be used now, and it is never moved to another',
};

const SCOPE: Readonly<Record<QuotaScope, string>> = {
  binding: 'the binding has as many actions under way as it may',
  instance: 'the instance has as many actions under way as it may',
  connector: 'the connector has as many actions under way as it may',
  tenant_retry: 'the tenant has as many retries under way as it may',
  tenant: 'the tenant has as many actions under way as it may',
  global: 'the deployment has as many actions under way as it may',
};
