/**
 * Handshakes (docs/architecture, "Webhook schemes are data"): is this a request that wants an answer
 * instead of a delivery, and what is the answer. Nothing of the request is trusted: it is echoed as
 * plain text or inside a JSON string, and only where its scheme says so.
 */
import type { AnswerContentType } from '../../schemas/webhook-schemes/handshakes';
import type { AnswerPart } from '../../schemas/webhook-schemes/message';
import type { CompiledScheme } from './compile';
import type { AnswerSigner, CompiledCondition, CompiledHandshake } from './compile-handshakes';
import { sameSecret } from './constant-time';
import { asked, messageBytes, settingText, withSecret } from './message';
import { isActive, type WebhookSecret } from './secrets';
import { readField, type RequestView } from './view';

/** Longer values are not echoed; vendors' challenges have some hundred characters. */
const maxEchoed = 1_000;

export interface HandshakeAnswer {
  readonly ok: true;
  readonly status: number;
  /** Null: no body. */
  readonly contentType: AnswerContentType | null;
  readonly body: string;
}

export type HandshakeVerdict =
  | HandshakeAnswer
  | {
      readonly ok: false;
      /** `ours`: no secret or setting to answer with. `theirs`: something required is not so. */
      readonly fault: 'theirs' | 'ours';
      readonly detail: string;
    };

/**
 * The handshake that a request is, or null. The first one counts whose method and conditions hold.
 *
 * @param signed whether the request's signature was verified: those that the vendor signs are looked
 *   for only then, the others only before
 */
export function findHandshake(
  { handshakes }: CompiledScheme,
  view: RequestView,
  signed: boolean,
): CompiledHandshake | null {
  return (
    handshakes.find(
      ({ handshake, when }) =>
        handshake.method === view.request.method &&
        (handshake.signed ?? false) === signed &&
        when.every((condition) => isMet(condition, view)),
    ) ?? null
  );
}

/**
 * What is answered. Never throws. Where the answer is signed, with the given secret or else with the
 * first one that counted at receipt and is a key of the signature.
 */
export function answerHandshake(
  { handshake, require, signer, body }: CompiledHandshake,
  view: RequestView,
  secrets: readonly WebhookSecret[],
  receivedAtMs: number,
): HandshakeVerdict {
  const missed = require.find((condition) => !isMet(condition, view));
  if (missed) return refused('theirs', `${missed.location} ${missed.name} is not as required`);
  const { status, content_type: contentType = null } = handshake.answer;
  if (body === null || contentType === null)
    return { ok: true, status, contentType: null, body: '' };
  let signature = '';
  if (signer !== null) {
    if (handshake.signed !== true && !asksForTokens(signer, view)) {
      return refused('theirs', 'what is to be signed is no token');
    }
    const active = secrets.filter((secret) => isActive(secret, receivedAtMs));
    const signed = signAnswer(signer, view, active);
    if (!signed.ok) return signed;
    signature = signed.text;
  }
  const filled: string[] = [];
  for (const part of body) {
    const text = part.token === 'signature' ? signature : partText(part, view);
    if (text === null) return refused('theirs', `${part.token} to be echoed is missing or unfit`);
    const literal = part.token === 'text' || contentType === 'text/plain';
    filled.push(literal ? text : JSON.stringify(text));
  }
  return { ok: true, status, contentType, body: filled.join('') };
}

/** What vendors let us sign: a word of the letters of Base64 and URLs, never JSON or several fields of a form. */
const token = /^[\w.~+/:-]{1,1000}={0,2}$/;

/**
 * Whether a request that nobody signed asks for no more than tokens to be signed: our signature over what
 * could be a delivery's payload would vouch for it.
 */
function asksForTokens({ message }: AnswerSigner, view: RequestView): boolean {
  return message.parts.every((part) => {
    if (part.token === 'header' || part.token === 'json') {
      const text = lookUp(part.token === 'json' ? 'body' : 'header', part.name, view);
      return text === null || token.test(text);
    }
    if (part.token !== 'config' || settingText(view.request.settings, part.name) !== null)
      return true;
    return token.test(asked(view, part.name) ?? 'absent');
  });
}

export type AnswerText =
  { readonly ok: true; readonly text: string } | Exclude<HandshakeVerdict, HandshakeAnswer>;

/** Our signature over what the request asks for, as its scheme writes it. */
export function signAnswer(
  { message, sign, encoding, prefix }: AnswerSigner,
  view: RequestView,
  secrets: readonly WebhookSecret[],
): AnswerText {
  const made = messageBytes(message, view, { timestamp: '', pairs: [], asks: true });
  if (!made.ok) {
    return refused(made.reason === 'missing_setting' ? 'ours' : 'theirs', made.detail);
  }
  for (const { value } of secrets) {
    const bytes = sign(value, withSecret(made.parts, value));
    if (bytes !== null) return { ok: true, text: prefix + Buffer.from(bytes).toString(encoding) };
  }
  return refused('ours', 'no active secret is a key of the answer');
}

function refused(fault: 'theirs' | 'ours', detail: string) {
  return { ok: false, fault, detail } as const;
}

function isMet(
  { location, name, absent, expected }: CompiledCondition,
  view: RequestView,
): boolean {
  const text = lookUp(location, name, view);
  if (absent === true) return text === null;
  if (text === null || text === '') return false;
  if (expected === null) return true;
  const wanted = expectedText(expected, view);
  return wanted !== null && sameSecret(Buffer.from(text, 'utf8'), Buffer.from(wanted, 'utf8'));
}

/** Null where a setting is missing: then nothing is equal to it. */
function expectedText(
  parts: NonNullable<CompiledCondition['expected']>,
  { request }: RequestView,
): string | null {
  const texts = parts.map((part) => {
    if (part.token === 'text') return part.text;
    return part.token === 'config' ? settingText(request.settings, part.name) : null;
  });
  return texts.includes(null) ? null : texts.join('');
}

function partText(part: Exclude<AnswerPart, { token: 'signature' }>, view: RequestView) {
  if (part.token === 'text') return part.text;
  const text =
    part.token === 'config'
      ? (settingText(view.request.settings, part.name) ?? asked(view, part.name))
      : lookUp(part.token === 'json' ? 'body' : part.token, part.name, view);
  const fit =
    text !== null && text !== '' && text.length <= maxEchoed && !/[\p{Cc}\p{Cs}]/u.test(text);
  return fit ? text : null;
}

function lookUp(
  location: 'header' | 'query' | 'body',
  name: string,
  view: RequestView,
): string | null {
  switch (location) {
    case 'body':
      return view.text(name);
    case 'header':
    case 'query': {
      const read = location === 'header' ? view.header(name) : readField(view.query, name);
      return read.found === 'one' ? read.text : null;
    }
  }
}
