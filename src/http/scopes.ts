/** The scopes that tokens may hold, and what each allows. */
export const SCOPES = {
  'factory.connections.read': 'Read deliveries.',
  'factory.connections.operate': 'Replay deliveries.',
  'factory.actions.read': 'Read actions and their routes.',
  'factory.actions.run': 'Start and cancel actions.',
  'factory.fleet.read': 'Read the hosts that carry actions out.',
} as const;

export type Scope = keyof typeof SCOPES;
