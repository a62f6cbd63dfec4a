/**
 * Why a captured request passes or fails, step by step, for a person at a terminal. Runs what an
 * ingress runs. Never tells a secret, nor a signature.
 */
import { freshness, type Verification } from '../../domain/verification';
import { compileScheme } from './compile';
import type { WebhookScheme } from '../../schemas/webhook-schemes';
import { findHandshake } from './handshakes';
import { identify } from './identify';
import type { WebhookRequest } from './request';
import { secretProblem, type WebhookSecret } from './secrets';
import { verify } from './verify';
import { viewOf } from './view';
import { createHash } from 'node:crypto';

export interface Step {
  readonly step: string;
  readonly found: string;
}

export interface Explanation {
  readonly outcome: 'accepted' | 'refused' | 'handshake';
  /** The reason of a refusal as a delivery would keep it; null where there was none. */
  readonly reason: string | null;
  readonly steps: readonly Step[];
  /** What would make it pass, where that can be told. */
  readonly hints: readonly string[];
}

/** @param receivedAtMs as of when freshness and the secrets are judged, ms since the epoch */
export async function explain(
  scheme: WebhookScheme,
  request: WebhookRequest,
  secrets: readonly WebhookSecret[],
  receivedAtMs: number,
): Promise<Explanation> {
  const compiled = compileScheme(scheme);
  const steps: Step[] = [];
  const note = (step: string, found: string): void => void steps.push({ step, found });
  note(
    'request',
    `${request.method} ${shownUrl(scheme, request.url)}, ${count(request.body.length, 'byte')} of body`,
  );
  const unsigned = findHandshake(compiled, viewOf(request), false);
  if (unsigned !== null) {
    note('handshake', `${unsigned.handshake.name}: answered without a signature`);
    return { outcome: 'handshake', reason: null, steps, hints: [] };
  }
  for (const { id, value } of secrets) {
    const problem = secretProblem(compiled, value);
    if (problem !== null) note('secret', `${id}: ${problem}`);
  }
  const verdict = await verify(compiled, request, secrets, { receivedAtMs, note });
  if (!verdict.ok) {
    note('refused', `${verdict.reason}: ${verdict.detail}`);
    const hints = await hintsFor(scheme, request, secrets, receivedAtMs);
    return { outcome: 'refused', reason: verdict.reason, steps, hints };
  }
  return { ...accepted(compiled, request, { verdict, receivedAtMs, note }), steps, hints: [] };
}

function accepted(
  compiled: ReturnType<typeof compileScheme>,
  request: WebhookRequest,
  { verdict, receivedAtMs, note }: Accepting,
): Pick<Explanation, 'outcome' | 'reason'> {
  const { signedAtMs, limits } = verdict;
  if (signedAtMs === null || limits === null)
    note('freshness', 'not judged: no tolerance is named');
  else {
    const { fresh, skewMs } = freshness(signedAtMs, limits, receivedAtMs);
    const when = `signed ${Math.abs(skewMs / 1000)} s ${skewMs < 0 ? 'after' : 'before'} receipt`;
    const range = `${limits.behindMs / 1000} s old to ${limits.aheadMs / 1000} s ahead`;
    note('freshness', `${when}; allowed: ${range}`);
    if (!fresh) return { outcome: 'refused', reason: 'signature_stale' };
  }
  const signed = findHandshake(compiled, viewOf(request), true);
  if (signed !== null) {
    note('handshake', `${signed.handshake.name}: answered instead of delivered`);
    return { outcome: 'handshake', reason: null };
  }
  const sha256 = createHash('sha256').update(request.body).digest('hex');
  const { externalId, externalIdFrom, eventTypes } = identify(compiled, request, sha256);
  note('delivery id', `${externalId} (${externalIdFrom})`);
  note('event type', eventTypes.length === 0 ? 'unknown' : eventTypes.join(', '));
  return { outcome: 'accepted', reason: null };
}

interface Accepting {
  readonly verdict: Verification & { readonly ok: true };
  readonly receivedAtMs: number;
  readonly note: (step: string, found: string) => void;
}

/** Tries what people get wrong most often; each try is a check like any other. */
async function hintsFor(
  scheme: WebhookScheme,
  request: WebhookRequest,
  secrets: readonly WebhookSecret[],
  receivedAtMs: number,
): Promise<string[]> {
  const text = Buffer.from(request.body).toString('latin1');
  const withBody = (changed: string): WebhookRequest => ({
    ...request,
    body: Buffer.from(changed, 'latin1'),
  });
  const changedSecrets = (change: (value: string) => string) =>
    secrets.map((secret) => ({ ...secret, value: change(secret.value) }));
  const tries: readonly (readonly [string, WebhookRequest, readonly WebhookSecret[]])[] = [
    ['without the line end at the end of the body', withBody(text.replace(/\r?\n$/, '')), secrets],
    ['with a line end added to the body', withBody(`${text}\n`), secrets],
    ['with \\r\\n for \\n in the body', withBody(text.replaceAll(/\r?\n/g, '\r\n')), secrets],
    ['without blanks around the secret', request, changedSecrets((value) => value.trim())],
    [
      'with https for http in the URL',
      { ...request, url: request.url.replace(/^http:/, 'https:') },
      secrets,
    ],
    [
      'without the slash at the end of the URL',
      { ...request, url: request.url.replace(/\/$/, '') },
      secrets,
    ],
  ];
  const hints: string[] = [];
  for (const [hint, changed, keys] of tries) {
    const verdict = await verify(compileScheme(scheme), changed, keys, { receivedAtMs });
    if (verdict.ok) hints.push(`it would match ${hint}`);
  }
  return hints;
}

/** Where the signature or the token itself stands in the query, it is left out. */
function shownUrl({ signature: { location, name } }: WebhookScheme, url: string): string {
  const at = url.indexOf('?');
  if (location !== 'query' || at < 0) return url;
  const fields = url.slice(at + 1).split('&');
  const shown = fields.map((field) => {
    const [key] = new URLSearchParams(field).keys();
    return key === name ? `${field.split('=', 1)[0] ?? ''}=…` : field;
  });
  return `${url.slice(0, at)}?${shown.join('&')}`;
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
