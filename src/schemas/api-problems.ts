/** The error answer of every endpoint: RFC 9457 with Waybill's stable code. */
import { z } from 'zod';
import { ACTION_STATES } from '../domain/action-states';
import { APPROVAL_STATES } from '../domain/approvals';
import { BULK_REPLAY_STATES } from '../domain/bulk-replays';
import { DELIVERY_STATES } from '../domain/delivery-states';
import { REPIN_FAULTS } from '../domain/repin';
import { BINDING_FAULTS } from '../domain/routes';

const FleetMistakeAnswer = z.object({
  code: z.string(),
  document: z.string().describe('Kind, id and position, such as `Target acme/ci (document 3)`.'),
  line: z.int(),
  field: z.string().describe('Its path; empty for the document as a whole.'),
  problem: z.string().describe('What is wrong, and what to write instead.'),
});

export const Problem = z
  .object({
    type: z.string().describe('urn:waybill:error:<code>'),
    title: z.string().describe('The same sentence for every problem of this code.'),
    status: z.int(),
    detail: z.string().describe('What exactly was wrong this time.'),
    code: z.string().describe('Stable name of the error; docs/errors.md lists them all.'),
    field: z.string().optional().describe('The input that is wrong.'),
    requestId: z.string().describe('Names this request in the log of Waybill.'),
    state: z
      .enum([...new Set([...DELIVERY_STATES, ...BULK_REPLAY_STATES, ...ACTION_STATES])])
      .optional()
      .describe(
        'delivery_not_failed, replay_refused, approval_not_waiting, resolution_refused: the state that ' +
          'the delivery, the job or the action is in.',
      ),
    reason: z
      .enum([...REPIN_FAULTS, ...APPROVAL_STATES, ...BINDING_FAULTS])
      .optional()
      .describe(
        'repin_refused: why the action stays where it is; approval_not_waiting: what became of its ' +
          'approval; capability_unavailable, where a capability is resolved: what the binding of the ' +
          'best priority lacks.',
      ),
    requestDigest: z
      .string()
      .optional()
      .describe(
        'approval_required and approval_refused, of what is sent: what an approval must name.',
      ),
    mistakes: z
      .array(FleetMistakeAnswer)
      .optional()
      .describe('Of a fleet, in the order of its lines: the first hundred.'),
    mistakeCount: z.int().optional().describe('Of a fleet: how many there are.'),
    checks: z
      .record(z.string(), z.string())
      .optional()
      .describe('not_ready: each check with `ok` or what is wrong.'),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof Problem>;
