/** The five boundaries at which a test kills a host or holds its provider. */
export type HostPoint =
  | 'before_intent_persistence'
  | 'intent_persisted'
  /** At the provider: it has committed and has not answered. */
  | 'provider_effect_committed'
  | 'provider_response_received'
  | 'result_persisted';

export type ReachPoint = (name: HostPoint) => Promise<void>;
