/** What an author says beside the manifest: requests for the conformance suite to send. */
import { z } from 'zod';
import { Name } from './names';
import { VectorVendor } from './webhook-vectors';

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

/** What an author gives to have a version certified. */
export const CertificationCases = z.strictObject({
  requests: ConformanceCases.default({}),
  /** Requests for its webhook scheme. */
  vectors: z.array(VectorVendor).max(20).default([]),
  /** A credential revision of the sandbox; null: its newest. */
  credential: Name.nullable().default(null),
});
export type CertificationCases = z.infer<typeof CertificationCases>;
