/** What an author says beside the manifest: requests for the conformance suite to send. */
import { z } from 'zod';
import { Name } from './names';

const Requests = z.array(z.json()).max(20).default([]);

/** By capability. What is left out is made up from the capability's request schema. */
export const ConformanceCases = z.record(
  Name,
  z.strictObject({
    /** The sandbox carries these out. */
    valid: Requests,
    /** No request of the capability: refused, and nothing begins. */
    invalid: Requests,
    /** Takes a second or more, so that it can be cancelled while it runs. */
    slow: z.json().optional(),
  }),
);
export type ConformanceCases = z.infer<typeof ConformanceCases>;
