/**
 * Verifies a webhook request over its bytes (docs/architecture, "Order of receiving"): signature
 * first, then the timestamp's form. Freshness is not decided here: the caller's clock decides that
 * as of receipt, from the signed instant and the tolerance that a positive answer holds.
 */
import type { Unverified, Verification } from '../../domain/verification';
import type { TimestampField, WebhookScheme } from '../../schemas/webhook-schemes';
import type { CompiledScheme } from './compile';
import { readHeader, type HeaderRead } from './headers';
import { messageBytes } from './message';
import { refuse } from './refusals';
import type { WebhookRequest } from './request';
import { activeSecrets, type WebhookSecret } from './secrets';
import { readSignatures, type SignatureList } from './signature-field';
import { readTimestamp } from './timestamps';

/**
 * Any active secret and any listed signature may match. Answers a refusal for every fault of the
 * request and never throws. Work is bounded: for each secret one hash of the message and at most
 * `maxSignatures` comparisons.
 *
 * @param receivedAtMs receipt of the request, ms since the epoch: judges the secrets' windows
 */
export function verify(
  compiled: CompiledScheme,
  request: WebhookRequest,
  secrets: readonly WebhookSecret[],
  receivedAtMs: number,
): Verification {
  const listed = signaturesOf(compiled.scheme, request);
  if (!listed.ok) return listed;
  const timestamp = timestampOf(compiled.scheme, request, listed);
  if (!timestamp.ok) return timestamp;
  const message = messageBytes(compiled, request, timestamp.text);
  if (!message.ok) return message;
  const active = activeSecrets(compiled, secrets, receivedAtMs);
  if (!active.ok) return active;

  const match = active.tests.find(({ test }) => listed.signatures.some(test(message.parts)));
  if (!match) return refuse('signature_mismatch', 'no listed signature matches an active secret');
  return verified(compiled.scheme, match.secretId, timestamp.text);
}

function signaturesOf(
  { signature }: WebhookScheme,
  request: WebhookRequest,
): SignatureList | Unverified {
  const read = readHeader(request.headers, signature.name.toLowerCase());
  switch (read.found) {
    case 'none':
      return refuse('missing_signature', `header ${signature.name} is missing`);
    case 'several':
      return refuse('repeated_signature', `header ${signature.name} has several values`);
    case 'one':
      return readSignatures(signature, read.text);
  }
}

interface TimestampText {
  readonly ok: true;
  /** Exactly as received; empty where the scheme has none. */
  readonly text: string;
}

function timestampOf(
  { timestamp }: WebhookScheme,
  request: WebhookRequest,
  listed: SignatureList,
): TimestampText | Unverified {
  if (!timestamp) return { ok: true, text: '' };
  const read = readTimestampField(timestamp, request, listed);
  if (read.found === 'several') {
    return refuse('repeated_timestamp', `timestamp ${timestamp.name} has several values`);
  }
  if (read.found === 'none' || read.text === '') {
    return refuse('missing_timestamp', `timestamp ${timestamp.name} is missing or empty`);
  }
  return { ok: true, text: read.text };
}

function readTimestampField(
  field: TimestampField,
  request: WebhookRequest,
  { pairs }: SignatureList,
): HeaderRead {
  if (field.location === 'header') return readHeader(request.headers, field.name.toLowerCase());
  const values = pairs.filter(([key]) => key === field.name).map(([, value]) => value);
  const [text, ...others] = new Set(values);
  if (text === undefined) return { found: 'none' };
  return others.length > 0 ? { found: 'several' } : { found: 'one', text };
}

function verified(
  { timestamp: field }: WebhookScheme,
  secretId: string,
  timestamp: string,
): Verification {
  if (!field) return { ok: true, secretId, signedAtMs: null, toleranceS: null };
  const signedAtMs = readTimestamp(field.unit, timestamp);
  if (signedAtMs === null) {
    return refuse(
      'malformed_timestamp',
      `timestamp ${field.name} is not in the unit ${field.unit}`,
    );
  }
  return { ok: true, secretId, signedAtMs, toleranceS: field.tolerance_s };
}
