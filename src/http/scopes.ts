/** The scopes that tokens may hold, and what each allows. */
export const SCOPES = {
  'factory.connections.read': 'Read deliveries and targets.',
  'factory.connections.operate': 'Replay deliveries; pause and resume targets and subscriptions.',
  'factory.connections.admin': 'Create, change and end subscriptions and their ingresses.',
  'factory.connections.events': 'Tell that a connection was enabled, disabled or revoked.',
  'factory.actions.read': 'Read actions and their routes.',
  'factory.actions.run': 'Start and cancel actions.',
  'factory.actions.operate': 'Move actions to another host.',
  'factory.catalog.read': 'Read the capabilities that the tenant can use, and verify plans.',
  'factory.catalog.internal': 'Read also definitions that the tenant has not bound.',
  'factory.events.read': 'Read the feed of events, and how their sinks fare.',
  'factory.replays.read': 'Read bulk replays.',
  'factory.replays.operate': 'Plan, run, pause and cancel bulk replays.',
  'factory.fleet.read': 'Read the hosts that carry actions out.',
  'factory.receipts.read': 'Read and export receipts.',
} as const;

export type Scope = keyof typeof SCOPES;
