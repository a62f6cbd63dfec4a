/** The scopes that tokens may hold, and what each allows. */
export const SCOPES = {
  'factory.connections.read': 'Read deliveries.',
  'factory.connections.operate': 'Replay deliveries.',
  'factory.actions.read': 'Read actions and their routes.',
  'factory.actions.run': 'Start and cancel actions.',
  'factory.actions.operate': 'Move actions to another host.',
  'factory.catalog.read': 'Read the capabilities that the tenant can use, and verify plans.',
  'factory.catalog.internal': 'Read also definitions that the tenant has not bound.',
  'factory.fleet.read': 'Read the hosts that carry actions out.',
} as const;

export type Scope = keyof typeof SCOPES;
