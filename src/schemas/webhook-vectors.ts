/**
 * Files of test vectors: requests of vendors with their schemes, and whether each must be accepted
 * (docs/webhook-schemes, "Vectors"). Foreign files are read leniently: what is not used is ignored.
 */
import { z } from 'zod';

const Text = z.union([z.string(), z.array(z.string())]);

export const Vector = z.object({
  name: z.string(),
  scheme: z.string().default('default'),
  valid: z.boolean(),
  secret: Text.optional(),
  public_key: z.string().optional(),
  jwk: z.record(z.string(), z.unknown()).optional(),
  /** Ed25519, hex: the vector's own signer, whose public key is meant where none is given. */
  private_key_seed: z.string().optional(),
  headers: z.record(z.string(), Text).default({}),
  body: z.string().optional(),
  body_base64: z.string().optional(),
  params: z.record(z.string(), Text).optional(),
  /** As configured; the query is that of `url_as_received` where there is one. */
  url: z.string().default('https://example.com/'),
  url_as_received: z.string().optional(),
  method: z.string().default('POST'),
  /** Seconds since the epoch; left out: freshness is not judged. */
  verify_at: z.number().optional(),
  tolerance_override_s: z.number().nonnegative().optional(),
  config: z.record(z.string(), z.unknown()).optional(),
  expected_response: z.union([z.string(), z.record(z.string(), z.unknown())]).optional(),
});
export type Vector = z.infer<typeof Vector>;

/** One vendor; its schemes are judged one by one, so that a wrong one does not hide the others. */
export const VectorVendor = z.object({
  vendor: z.string(),
  schemes: z.record(z.string(), z.unknown()).default({}),
  vectors: z.array(Vector),
});
export type VectorVendor = z.infer<typeof VectorVendor>;

export const VectorFile = z
  .union([z.object({ vendors: z.array(VectorVendor) }), VectorVendor])
  .transform((file): readonly VectorVendor[] => ('vendors' in file ? file.vendors : [file]));
