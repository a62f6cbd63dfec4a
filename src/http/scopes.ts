/** The scopes that tokens may hold, and what each allows. */
export const SCOPES = {
  'factory.connections.read': 'Read deliveries.',
  'factory.connections.operate': 'Replay deliveries.',
} as const;

export type Scope = keyof typeof SCOPES;
