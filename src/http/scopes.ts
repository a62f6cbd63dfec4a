/** The scopes that tokens may hold, and what each allows. */
export const SCOPES = {
  'factory.connections.read': 'Read deliveries, targets and connectors.',
  'factory.connections.operate': 'Replay deliveries; pause and resume targets and subscriptions.',
  'factory.deliveries.send': 'Send deliveries through connections.',
  'factory.connections.admin':
    'Have connector versions certified; create, change and end subscriptions and their ingresses.',
  'factory.connections.events': 'Tell that a connection was enabled, disabled or revoked.',
  'factory.actions.read': 'Read actions and their routes.',
  'factory.actions.run': 'Start and cancel actions.',
  'factory.actions.approve': 'Approve and deny actions that wait for that.',
  'factory.actions.operate': 'Move actions to another host; say what became of one.',
  'factory.catalog.read': 'Read the capabilities that the tenant can use, and verify plans.',
  'factory.catalog.internal': 'Read also definitions that the tenant has not bound.',
  'factory.events.read': 'Read the feed of events, and how their sinks fare.',
  'factory.replays.read': 'Read bulk replays.',
  'factory.replays.operate': 'Plan, run, pause and cancel bulk replays.',
  'factory.fleet.read': 'Read the hosts that carry actions out.',
  'factory.fleet.publish':
    'Publish fleets, of any tenant: for operators of the whole deployment only.',
  'factory.receipts.read': 'Read and export receipts.',
} as const;

export type Scope = keyof typeof SCOPES;
