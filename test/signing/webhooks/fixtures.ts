/** Shipped schemes, vectors, and requests for tests of the scheme engine. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { loadShippedSchemes } from '../../../src/schemas/shipped-schemes';
import { VectorFile, type VectorVendor } from '../../../src/schemas/webhook-vectors';
import type { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import type { WebhookRequest } from '../../../src/signing/webhooks/request';

/** All of them, read: that throws where one is not valid. */
export const shippedSchemes = new Map(loadShippedSchemes());

export const VECTORS_FILE = path.join(__dirname, '../../../schemes/vectors.json');
const text = readFileSync(VECTORS_FILE, 'utf8');

export const vectorVendors: readonly VectorVendor[] = VectorFile.parse(JSON.parse(text));

/** What the vectors' file says of its vendors besides the vectors. */
export const vectorFacts = z
  .object({
    meta: z.object({ conformance_mutations_to_run_for_every_vendor: z.array(z.string()) }),
    vendors: z.array(
      z.object({
        vendor: z.string(),
        docs: z.string(),
        vectors: z.array(z.object({ reason: z.string().optional() })),
      }),
    ),
  })
  .parse(JSON.parse(text));

export function shippedScheme(name: string): WebhookScheme {
  const scheme = shippedSchemes.get(name);
  if (scheme === undefined) throw new Error(`no scheme ${name} is shipped`);
  return scheme;
}

export function requestOf(
  headers: readonly (readonly [string, string])[],
  body: Uint8Array,
): WebhookRequest {
  return { method: 'POST', url: 'https://hooks.example.test/webhooks/i1?a=b', headers, body };
}
