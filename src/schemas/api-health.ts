/** Liveness, readiness and public keys. */
import { z } from 'zod';

export const Health = z.object({ status: z.literal('alive') });

export const Readiness = z.object({
  ready: z.literal(true),
  checks: z.record(z.string(), z.string()).describe('Each check with `ok`.'),
});

export const KeySet = z
  .object({ keys: z.array(z.record(z.string(), z.unknown())) })
  .describe('A JSON Web Key Set (RFC 7517): the public keys that receipts verify with.');
