/** What a capability can do at worst. */
export const SIDE_EFFECTS = ['read', 'sandbox', 'shared-write', 'external'] as const;
export type SideEffect = (typeof SIDE_EFFECTS)[number];

/** How an unknown outcome of a capability can be cleared up. */
export const RECOVERIES = ['provider_key', 'lookup', 'none'] as const;
export type RecoveryKind = (typeof RECOVERIES)[number];
