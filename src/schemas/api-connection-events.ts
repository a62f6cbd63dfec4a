/** What a system of connections tells of one of them, as a CloudEvent. */
import { z } from 'zod';
import { PLAIN_TEXT } from './api-common';
import { INSTANCE_STATUSES } from './fleet/documents';
import { Name } from './names';

export const CONNECTION_STATE_CHANGED = 'integration.connections.v1.connection-state-changed';

export const ConnectionState = z.strictObject({
  connectionId: Name.describe('The instance.'),
  state: z
    .enum(INSTANCE_STATUSES)
    .describe('revoked is for good: its subscriptions end, and what is pending of them fails.'),
  version: z
    .int()
    .min(1)
    .max(Number.MAX_SAFE_INTEGER)
    .describe('Grows with each change of the connection: what is not higher changes nothing.'),
  tenantId: Name.optional().describe("Where it is there: the token's."),
});
export type ConnectionState = z.infer<typeof ConnectionState>;

/** Text of CloudEvents holds no control characters and no half surrogates; the audit log could not either. */
const attribute = z
  .string()
  .min(1)
  .max(500)
  .regex(PLAIN_TEXT, 'must not contain control characters');

/** In structured mode the whole event, in binary mode its data alone. */
export const ConnectionEventBody = z.union([
  z.looseObject({
    specversion: z.literal('1.0'),
    id: attribute,
    source: attribute,
    type: attribute,
    data: ConnectionState,
  }),
  ConnectionState,
]);

/** What an event must be, in either mode. */
export const ConnectionEvent = z.object({
  specversion: z.literal('1.0'),
  id: attribute,
  source: attribute,
  type: z.literal(CONNECTION_STATE_CHANGED),
  data: ConnectionState,
});
export type ConnectionEvent = z.infer<typeof ConnectionEvent>;

export const ConnectionEventAnswer = z
  .object({
    outcome: z
      .enum(['applied', 'unchanged', 'duplicate', 'older'])
      .describe(
        'unchanged: it was so already; duplicate: this event came before; older: a newer one did.',
      ),
  })
  .meta({ id: 'ConnectionEventAnswer' });
export type ConnectionEventAnswer = z.infer<typeof ConnectionEventAnswer>;
