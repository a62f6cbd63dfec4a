/** Where new actions of a capability, or of an interface, go: by the chain that routes them. */
import type { RecoveryKind, SideEffect } from './capabilities';
import type { BindingFault } from './routes';

export type ResolutionWish = { readonly capabilityId: string } | { readonly interfaceName: string };

export interface ResolvedCapability {
  readonly capabilityId: string;
  readonly sideEffect: SideEffect;
  readonly recovery: RecoveryKind;
  readonly contractDigest: string;
  /** Of the binding; the lower one wins. */
  readonly priority: number;
  readonly policyRevision: number;
}

/** The instance of the best usable binding, and by whose adapter it is served. */
export interface CapabilityResolution {
  readonly revision: number;
  readonly interfaceName: string;
  readonly instanceId: string;
  readonly connectorId: string;
  readonly version: string;
  readonly provider: string;
  readonly manifestDigest: string;
  /** What was asked for, as far as this instance serves it; by id, at least one. */
  readonly capabilities: readonly ResolvedCapability[];
}

export type ResolutionAnswer =
  | ({ readonly kind: 'resolved' } & CapabilityResolution)
  /** What the binding of the best priority lacks; `no_binding` also where there is no such thing. */
  | {
      readonly kind: 'binding_unavailable';
      readonly why: BindingFault;
      readonly revision: number;
    };
