import { createHash } from 'node:crypto';
import {
  limitsOf,
  type Unverified,
  type Verification,
  type Verified,
} from '../../domain/verification';
import type { MessageScheme } from '../../schemas/webhook-schemes';
import { signedItems, type SignedItems } from './batch';
import type { CompiledMessage } from './compile-message';
import type { HeaderRead } from './headers';
import { matchingSecret, type Check } from './matching';
import { messageBytes } from './message';
import { refuse } from './refusals';
import type { SignatureList } from './signature-field';
import { readTimestamp } from './timestamps';
import { listedSignatures, type Trying } from './trying';
import { readField, type Fields, type RequestView } from './view';

/** Judges a request whose signature is over a message made of its parts. */
export function verifyMessage(
  trying: Trying,
  scheme: MessageScheme,
  message: CompiledMessage,
): Verification {
  const { view, judging } = trying;
  const listed = message.ofItems
    ? signedItems(trying.compiled.signatures, view)
    : listedSignatures(trying);
  if (!listed.ok) return listed;
  const pairs = 'pairs' in listed ? listed.pairs : [];
  // A time inside the body is read after the signature, unless it is part of what was signed.
  const early = message.usesTimestamp || scheme.timestamp?.location !== 'body';
  const before = early ? timestampText(scheme, view, pairs) : noTimestamp;
  if (!before.ok) return before;
  const checks = checksOf(message, view, { listed, pairs, timestamp: before.text });
  if ('ok' in checks) return checks;
  judging.note?.('message', `${describeSize(checks)} from ${scheme.message}`);
  const match = matchingSecret(trying, checks);
  if (!match.ok) return match;
  const unhashed = bodyHashProblem(message, view);
  if (unhashed !== null) return unhashed;
  const timestamp = early ? before : timestampText(scheme, view, pairs);
  return timestamp.ok ? verified(scheme, match.secretId, timestamp.text) : timestamp;
}

interface Found {
  readonly listed: SignatureList | SignedItems;
  readonly pairs: Fields;
  readonly timestamp: string;
}

function checksOf(
  message: CompiledMessage,
  view: RequestView,
  { listed, pairs, timestamp }: Found,
): readonly Check[] | Unverified {
  if ('signatures' in listed) {
    const made = messageBytes(message, view, { timestamp, pairs });
    return made.ok ? [{ parts: made.parts, signatures: listed.signatures }] : made;
  }
  const checks: Check[] = [];
  for (const { item, signatures } of listed.items) {
    const made = messageBytes(message, view, { timestamp, pairs, item });
    if (!made.ok) return made;
    checks.push({ parts: made.parts, signatures });
  }
  return checks;
}

function describeSize(checks: readonly Check[]): string {
  const [first] = checks;
  const bytes = first?.parts.reduce((sum, part) => sum + (part?.length ?? 0), 0) ?? 0;
  return checks.length === 1
    ? `${bytes} bytes`
    : `${checks.length} messages, the first ${bytes} bytes,`;
}

interface TimestampText {
  readonly ok: true;
  /** Exactly as received; empty where the scheme has none. */
  readonly text: string;
}

const noTimestamp: TimestampText = { ok: true, text: '' };

function timestampText(
  { timestamp }: MessageScheme,
  view: RequestView,
  pairs: Fields,
): TimestampText | Unverified {
  if (!timestamp) return noTimestamp;
  const read = readTimestampField(timestamp, view, pairs);
  if (read.found === 'several') {
    return refuse('repeated_timestamp', `timestamp ${timestamp.name} has several values`);
  }
  if (read.found === 'none' || read.text === '') {
    return refuse('missing_timestamp', `timestamp ${timestamp.name} is missing or empty`);
  }
  return { ok: true, text: read.text };
}

function readTimestampField(
  { location, name }: NonNullable<MessageScheme['timestamp']>,
  view: RequestView,
  pairs: Fields,
): HeaderRead {
  if (location === 'header') return view.header(name);
  if (location === 'signature') return readField(pairs, name);
  const text = view.text(name);
  return text === null ? { found: 'none' } : { found: 'one', text };
}

/** Where the query holds the body's hash, the signature covers the query and so the body. */
function bodyHashProblem(
  { bodyHashQuery, parts }: CompiledMessage,
  view: RequestView,
): Unverified | null {
  if (bodyHashQuery === null) return null;
  const { body } = view.request;
  const read = readField(view.query, bodyHashQuery);
  if (read.found === 'none') {
    const signed =
      body.length === 0 || parts.some(({ token }) => token === 'body' || token === 'sorted_params');
    return signed ? null : refuse('unsigned_body', `query ${bodyHashQuery} is missing`);
  }
  const expected = createHash('sha256').update(body).digest('hex');
  if (read.found === 'one' && read.text === expected) return null;
  return refuse('body_hash_mismatch', `query ${bodyHashQuery} is not the SHA-256 of the body`);
}

function verified(
  { timestamp: field }: MessageScheme,
  secretId: string,
  timestamp: string,
): Verified | Unverified {
  if (!field) return { ok: true, secretId, signedAtMs: null, limits: null };
  const signedAtMs = readTimestamp(field.unit, timestamp);
  if (signedAtMs === null) {
    const detail = `timestamp ${field.name} is not in the unit ${field.unit}`;
    return refuse('malformed_timestamp', detail);
  }
  const limits = field.tolerance_s === null ? null : limitsOf(field.tolerance_s);
  return { ok: true, secretId, signedAtMs, limits };
}
