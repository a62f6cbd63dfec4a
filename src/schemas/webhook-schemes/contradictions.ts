/** Rules over several fields of a scheme, each broken one with the field to change. */
import type { Contradiction } from './contradiction';
import { nameProblem } from './fields';
import { fixedAnswerContradictions, handshakeContradictions } from './handshakes';
import type { SchemeFields } from './kinds';
import { parseMessageTemplate, type MessagePart } from './message';

type Signed = Extract<SchemeFields, { message: string }>;
type Parts = readonly MessagePart[];
type Pairs = Extract<SchemeFields['signature'], { format: 'pairs' }>;

export function contradictions(scheme: SchemeFields): Contradiction[] {
  const own = 'message' in scheme ? signedContradictions(scheme) : unsignedContradictions(scheme);
  return [
    ...own,
    ...signatureContradictions(scheme),
    ...identityContradictions(scheme),
    ...keptHeaderContradictions(scheme),
    ...handshakeContradictions(scheme.handshakes ?? []),
    ...(scheme.answer ? fixedAnswerContradictions(scheme.answer) : []),
  ];
}

function signedContradictions(scheme: Signed): Contradiction[] {
  const template = parseMessageTemplate(scheme.message);
  if (!template.ok) return [{ path: ['message'], message: template.problem }];
  return [
    ...messageContradictions(scheme, template.parts),
    ...placeContradictions(scheme, template.parts),
    ...timestampContradictions(scheme, template.parts),
  ];
}

/** Tokens that stand for the payload, or a part of it. */
const ofPayload = new Set<MessagePart['token']>([
  ...(['body', 'json', 'sorted_params', 'adyen_item', 'sns', 'crc32'] as const),
]);

function messageContradictions(scheme: Signed, parts: Parts): Contradiction[] {
  const uses = (token: MessagePart['token']) => parts.some((part) => part.token === token);
  const found: string[] = [];
  const isAnswer = scheme.signature.location === 'response';
  const hashed = scheme.body_hash_query !== undefined && (uses('url') || uses('path'));
  if (!isAnswer && !hashed && !parts.some(({ token }) => ofPayload.has(token))) {
    found.push('has no {body}: the payload would not be signed');
  }
  if (uses('timestamp') && !scheme.timestamp) found.push('has {timestamp}, the scheme has none');
  if (uses('id') && scheme.id_header === undefined)
    found.push('has {id}, but no id_header is given');
  if (scheme.kind === 'digest' && !uses('secret'))
    found.push('has no {secret}: anybody could compute this digest');
  if (!['digest', 'hmac'].includes(scheme.kind) && uses('secret'))
    found.push('has {secret}, but the key of this kind is public or signs by itself');
  for (const token of ['adyen_item', 'sns'] as const) {
    if (uses(token) && scheme.signature.location !== 'body')
      found.push(`has {${token}}, whose signature is in the body`);
  }
  if (uses('hook0_headers') && scheme.signature.format !== 'pairs')
    found.push('has {hook0_headers}, whose list is in the pairs of the signature');
  return found.map((message) => ({ path: ['message'], message }));
}

function placeContradictions(
  { signature, body_hash_query }: Signed,
  parts: Parts,
): Contradiction[] {
  const urlSigned = parts.some(({ token }) => token === 'url' || token === 'path');
  const found: Contradiction[] = [];
  if (signature.location === 'query' && urlSigned) {
    const message = 'query: a signature cannot sign the URL that it stands in';
    found.push({ path: ['signature', 'location'], message });
  }
  if (body_hash_query !== undefined && !urlSigned) {
    const message = 'needs {url} or {path} in the message, or anybody could change the hash';
    found.push({ path: ['body_hash_query'], message });
  }
  const holdsItself = parts.some(
    ({ token }) => token === 'body' && ['body', 'param'].includes(signature.location),
  );
  if (holdsItself) {
    const message = `${signature.location}: a signature cannot sign the body that it stands in`;
    found.push({ path: ['signature', 'location'], message });
  }
  return found;
}

function timestampContradictions({ timestamp, signature }: Signed, parts: Parts): Contradiction[] {
  if (!timestamp) return [];
  const { location, name } = timestamp;
  const found: Contradiction[] = [];
  if (location === 'signature' && signature.format !== 'pairs') {
    found.push({ path: ['timestamp', 'location'], message: 'signature needs the format pairs' });
  }
  const wrongName = location === 'signature' ? null : nameProblem(location, name);
  if (wrongName !== null) found.push({ path: ['timestamp', 'name'], message: wrongName });
  // Anyone could refresh an unsigned timestamp, so a tolerance on it would promise nothing.
  if (timestamp.tolerance_s !== null && !parts.some((part) => signs(part, location, name))) {
    const message = 'needs a signed timestamp, but the message has no {timestamp}';
    found.push({ path: ['timestamp', 'tolerance_s'], message });
  }
  return found;
}

/** Whether this part of the message covers the timestamp, as far as the scheme alone can tell. */
function signs(part: MessagePart, location: string, name: string): boolean {
  const { token } = part;
  if (token === 'timestamp') return true;
  if (token === 'header')
    return location === 'header' && part.name.toLowerCase() === name.toLowerCase();
  // The request says which headers are signed; that the timestamp is one is checked then.
  if (token === 'contentful_headers' || token === 'hook0_headers') return location === 'header';
  if (location !== 'body') return false;
  if (token === 'json') return part.name === name;
  return token === 'body' || (token === 'sns' && name === 'Timestamp');
}

function unsignedContradictions(scheme: Exclude<SchemeFields, Signed>): Contradiction[] {
  const found: Contradiction[] = [];
  if (scheme.signature.location === 'response') {
    const message = `response: the kind ${scheme.kind} answers nothing`;
    found.push({ path: ['signature', 'location'], message });
  }
  if (scheme.kind === 'basic-auth' && scheme.signature.format === 'pairs') {
    found.push({ path: ['signature', 'format'], message: 'basic-auth has no pairs' });
  }
  if (scheme.kind !== 'jwt') return found;
  const symmetric = scheme.algorithms.filter((name) => name.startsWith('HS')).length;
  // A public key taken for an HMAC secret would let anybody sign.
  if (symmetric !== 0 && symmetric !== scheme.algorithms.length) {
    const message = 'must be all symmetric (HS…) or all asymmetric';
    found.push({ path: ['algorithms'], message });
  }
  if (scheme.body_hash_required === true && scheme.body_hash_claim === undefined) {
    found.push({ path: ['body_hash_required'], message: 'needs body_hash_claim' });
  }
  return found;
}

function signatureContradictions({ kind, signature }: SchemeFields): Contradiction[] {
  const found: Contradiction[] = [];
  const { location, name } = signature;
  const answers = ['hmac', 'digest', 'ed25519-seed-from-secret'].includes(kind);
  if (location === 'response' && signature.format === 'pairs') {
    found.push({ path: ['signature', 'format'], message: 'an answer holds one signature' });
  }
  if (location === 'response' && 'encoding' in signature && !answers) {
    const message = `response: the kind ${kind} has no key that signs`;
    found.push({ path: ['signature', 'location'], message });
  }
  const wrongName = location === 'response' ? null : nameProblem(location, name);
  if (wrongName !== null) found.push({ path: ['signature', 'name'], message: wrongName });
  if (signature.format === 'pairs' && signature.sep === signature.eq) {
    found.push({ path: ['signature', 'eq'], message: 'must differ from sep' });
  }
  if (signature.format === 'pairs') found.push(...keyContradictions(signature));
  return found;
}

/** A key that no pair can have would refuse everything. */
function keyContradictions({ sep, eq, sig_keys }: Pairs): Contradiction[] {
  return sig_keys.flatMap((key, index) => {
    const path = ['signature', 'sig_keys', index];
    if (key.trim() !== key) return [{ path, message: 'must not begin or end with a blank' }];
    const parts = key.includes(sep) || key.includes(eq);
    return parts ? [{ path, message: 'must not hold sep or eq' }] : [];
  });
}

function identityContradictions({ kind, signature, delivery_id }: SchemeFields): Contradiction[] {
  if (delivery_id === undefined) return [];
  const places = delivery_id.location === 'first' ? delivery_id.of : [delivery_id];
  if (places.every(({ location }) => location !== 'claim')) return [];
  const path = ['delivery_id', 'location'];
  if (kind !== 'jwt') return [{ path, message: 'claim needs the kind jwt' }];
  // Of several tokens only one was judged.
  return signature.format === 'pairs'
    ? [{ path, message: 'claim needs one token, not pairs' }]
    : [];
}

// Credentials must not be stored; the others belong to one connection or to our own signature.
const neverKept = new Set([
  ...['authorization', 'proxy-authorization', 'cookie', 'set-cookie'],
  ...['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding'],
  ...['te', 'trailer', 'upgrade', 'expect', 'proxy-connection'],
  ...['webhook-id', 'webhook-timestamp', 'webhook-signature'],
]);

function keptHeaderContradictions({ kept_headers, signature }: SchemeFields): Contradiction[] {
  return (kept_headers ?? []).flatMap((name, index) => {
    const lower = name.toLowerCase();
    if (!neverKept.has(lower) && lower !== signature.name.toLowerCase()) return [];
    return [{ path: ['kept_headers', index], message: `${name} is never kept` }];
  });
}
