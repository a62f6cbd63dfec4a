/** Loads shipped schemes and vector files, and signs requests as the shipped vendors do. */
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import type { WebhookRequest } from '../../../src/signing/webhooks/request';

const root = join(__dirname, '../../..');
const vectorDir = join(root, 'test/signing/vectors');

const Vector = z.strictObject({
  name: z.string(),
  scheme: z.string(),
  provenance: z.enum(['published', 'derived', 'mutated']),
  source: z.string().optional(),
  secret: z.string(),
  method: z.string().optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
  verify_at: z.number().optional(),
  valid: z.boolean(),
  reason: z.string().optional(),
});
export type Vector = z.infer<typeof Vector>;

const VectorFile = z.strictObject({
  vendor: z.string(),
  docs: z.string(),
  schemes: z.record(z.string(), WebhookScheme),
  vectors: z.array(Vector),
});
export type VectorFile = z.infer<typeof VectorFile>;

export function vectorFiles(): VectorFile[] {
  return readdirSync(vectorDir).map((name) =>
    VectorFile.parse(JSON.parse(readFileSync(join(vectorDir, name), 'utf8'))),
  );
}

export function shippedSchemeNames(): string[] {
  return readdirSync(join(root, 'schemes')).map((name) => name.replace(/\.yaml$/, ''));
}

export function shippedScheme(name: string): WebhookScheme {
  return WebhookScheme.parse(parse(readFileSync(join(root, `schemes/${name}.yaml`), 'utf8')));
}

export interface SignInput {
  readonly secret: string;
  readonly body: Uint8Array;
  readonly id?: string;
  /** The timestamp's text. */
  readonly timestamp?: string;
}

export interface VendorSigner {
  readonly vendor: string;
  readonly secret: string;
  readonly otherSecret: string;
  readonly signatureHeader: string;
  readonly encoding: 'hex' | 'base64';
  /** Where the vendor signs a timestamp: the header, or the key among the signature's pairs. */
  readonly timestamp?: { readonly header?: string };
  /** The signature field of the vendor with the bare signature put in. */
  readonly field: (signature: string, timestamp: string) => string;
  readonly sign: (input: SignInput) => { signature: string; headers: [string, string][] };
}

export const signedAtS = 1_700_000_000;

/** What each vendor's documentation says, written without any code of the product. */
export const vendorSigners: readonly VendorSigner[] = [
  vendor({ vendor: 'github', header: 'X-Hub-Signature-256', field: (s) => `sha256=${s}` }),
  vendor({
    vendor: 'stripe',
    header: 'Stripe-Signature',
    message: ({ timestamp }) => `${timestamp}.`,
    field: (s, t) => `t=${t},v1=${s}`,
    timestamp: {},
  }),
  vendor({
    vendor: 'slack',
    header: 'X-Slack-Signature',
    message: ({ timestamp }) => `v0:${timestamp}:`,
    field: (s) => `v0=${s}`,
    timestamp: { header: 'X-Slack-Request-Timestamp' },
  }),
  vendor({
    vendor: 'standard-webhooks',
    header: 'webhook-signature',
    message: ({ id, timestamp }) => `${id}.${timestamp}.`,
    field: (s) => `v1,${s}`,
    timestamp: { header: 'webhook-timestamp' },
    idHeader: 'webhook-id',
    encoding: 'base64',
    key: (secret) => Buffer.from(secret.slice('whsec_'.length), 'base64'),
  }),
];

interface VendorInput {
  readonly vendor: string;
  readonly header: string;
  readonly field: VendorSigner['field'];
  readonly message?: (input: { id: string; timestamp: string }) => string;
  readonly timestamp?: { readonly header?: string };
  readonly idHeader?: string;
  readonly encoding?: 'base64';
  readonly key?: (secret: string) => Buffer;
}

function vendor(input: VendorInput): VendorSigner {
  const encoding = input.encoding ?? 'hex';
  return {
    vendor: input.vendor,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    otherSecret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
    signatureHeader: input.header,
    encoding,
    field: input.field,
    ...(input.timestamp && { timestamp: input.timestamp }),
    sign: ({ secret, body, id = 'msg_1', timestamp = String(signedAtS) }) => {
      const key = input.key?.(secret) ?? Buffer.from(secret, 'utf8');
      const hmac = createHmac('sha256', key).update(input.message?.({ id, timestamp }) ?? '');
      const signature = hmac.update(body).digest(encoding);
      const headers: [string, string][] = [[input.header, input.field(signature, timestamp)]];
      if (input.timestamp?.header) headers.push([input.timestamp.header, timestamp]);
      if (input.idHeader) headers.push([input.idHeader, id]);
      return { signature, headers };
    },
  };
}

export function requestOf(
  headers: readonly (readonly [string, string])[],
  body: Uint8Array,
): WebhookRequest {
  return { method: 'POST', url: 'https://hooks.example.test/webhooks/i1?a=b', headers, body };
}
