/**
 * Requests that want an answer instead of a delivery (docs/architecture, "Webhook schemes are data"):
 * how they are told, and what is answered. Answers are text or JSON, never a page.
 */
import { z } from 'zod';
import { FieldName, nameProblem } from './fields';
import { AnswerSignature } from './answer-signature';
import { parseAnswerTemplate, parseMessageTemplate } from './message';
import type { Contradiction } from './contradiction';

const ContentType = z.enum(['text/plain', 'application/json']);
export type AnswerContentType = z.infer<typeof ContentType>;

/** One field of the request: equal to a text, or absent, or else present and not empty. */
const Condition = z.strictObject({
  location: z.enum(['header', 'query', 'body']),
  name: z.string().min(1).max(200),
  equals: z.string().min(1).max(200).optional(),
  absent: z.literal(true).optional(),
});
export type HandshakeCondition = z.infer<typeof Condition>;

export const Handshake = z.strictObject({
  name: FieldName,
  method: z.enum(['GET', 'HEAD', 'POST']),
  when: z.array(Condition).max(5).optional(),
  require: z.array(Condition).min(1).max(5).optional(),
  signed: z.boolean().optional(),
  signature: AnswerSignature.optional(),
  answer: z.strictObject({
    status: z.int().min(200).max(299),
    content_type: ContentType.optional(),
    body: z.string().max(2000).optional(),
  }),
});
export type Handshake = z.infer<typeof Handshake>;

/** What a vendor wants to hear instead of our own answer to a delivery; fixed. */
export const DeliveryAnswer = z.strictObject({
  status: z.union([z.literal(200), z.literal(201), z.literal(202), z.literal(204)]),
  content_type: ContentType.optional(),
  body: z.string().min(1).max(1000).optional(),
});
export type DeliveryAnswer = z.infer<typeof DeliveryAnswer>;

export function handshakeContradictions(handshakes: readonly Handshake[]): Contradiction[] {
  return handshakes.flatMap((handshake, index) =>
    ownContradictions(handshake).map(({ path, message }) => ({
      path: ['handshakes', index, ...path],
      message,
    })),
  );
}

function ownContradictions(handshake: Handshake): Contradiction[] {
  const { method, signed, when = [] } = handshake;
  const found: Contradiction[] = [];
  if (method === 'POST' && signed === undefined) {
    const message = 'is missing: say whether the vendor signs this request';
    found.push({ path: ['signed'], message });
  }
  if (method !== 'POST' && signed === true) {
    found.push({ path: ['signed'], message: `a ${method} request is not signed` });
  }
  // Whatever is posted without a signature would be answered instead of refused.
  if (method === 'POST' && when.length === 0) {
    found.push({ path: ['when'], message: 'is missing: every delivery would be a handshake' });
  }
  return [
    ...found,
    ...conditionContradictions(handshake),
    ...signatureContradictions(handshake),
    ...answerContradictions(handshake),
  ];
}

function conditionContradictions({ when = [], require = [], method }: Handshake): Contradiction[] {
  const check = (field: string, conditions: readonly HandshakeCondition[]) =>
    conditions.flatMap(({ location, name, equals, absent }, index) => {
      const at = (last: string, message: string) => ({ path: [field, index, last], message });
      const found: Contradiction[] = [];
      const wrongName = nameProblem(location, name);
      if (wrongName !== null) found.push(at('name', wrongName));
      if (location === 'body' && method !== 'POST')
        found.push(at('location', `a ${method} request has no body`));
      if (equals !== undefined && absent === true) found.push(at('absent', 'contradicts equals'));
      const template = parseMessageTemplate(equals ?? '');
      if (!template.ok) found.push(at('equals', template.problem));
      else if (template.parts.some(({ token }) => token !== 'text' && token !== 'config'))
        found.push(at('equals', 'may hold {config:…} only'));
      return found;
    });
  return [...check('when', when), ...check('require', require)];
}

const signable = new Set([
  'text',
  'config',
  'json',
  'header',
  'url',
  'path',
  'method',
  'secret',
  'body',
]);

function signatureContradictions({ signature, answer, signed }: Handshake): Contradiction[] {
  const used = answer.body?.includes('{signature}') === true;
  if (signature === undefined) {
    const message = 'has {signature}, but the handshake has none';
    return used ? [{ path: ['answer', 'body'], message }] : [];
  }
  const found: Contradiction[] = [];
  if (!used) found.push({ path: ['signature'], message: 'is not used by the answer' });
  if (signature.signature.location !== 'response') {
    found.push({ path: ['signature', 'signature', 'location'], message: 'must be response' });
  }
  const template = parseMessageTemplate(signature.message);
  const other = template.ok ? template.parts.find(({ token }) => !signable.has(token)) : undefined;
  if (!template.ok) found.push({ path: ['signature', 'message'], message: template.problem });
  if (other)
    found.push({ path: ['signature', 'message'], message: `an answer cannot sign ${other.token}` });
  // Whoever asks could have any delivery signed.
  if (template.ok && signed !== true && template.parts.some(({ token }) => token === 'body')) {
    const message = 'has {body}, which must not be signed for a request that nobody signed';
    found.push({ path: ['signature', 'message'], message });
  }
  return found;
}

function answerContradictions({ answer, method }: Handshake): Contradiction[] {
  const at = (field: string, message: string) => [{ path: ['answer', field], message }];
  if (answer.body === undefined) {
    return answer.content_type === undefined ? [] : at('content_type', 'needs a body');
  }
  if (method === 'HEAD' || answer.status === 204) return at('body', 'cannot be sent here');
  if (answer.content_type === undefined) return at('content_type', 'is missing');
  const template = parseAnswerTemplate(answer.body);
  if (!template.ok) return at('body', template.problem);
  if (answer.content_type === 'text/plain') return [];
  const sample = template.parts.map((part) => (part.token === 'text' ? part.text : '""')).join('');
  return isJson(sample) ? [] : at('body', 'is not JSON once its tokens are filled in');
}

/** Of the fixed answer to a delivery. */
export function fixedAnswerContradictions(answer: DeliveryAnswer): Contradiction[] {
  const { status, content_type, body } = answer;
  if (body === undefined) {
    const message = 'needs a body';
    return content_type === undefined ? [] : [{ path: ['answer', 'content_type'], message }];
  }
  const problem =
    status === 204
      ? { path: ['answer', 'body'], message: 'cannot be sent with 204' }
      : content_type === undefined
        ? { path: ['answer', 'content_type'], message: 'is missing' }
        : null;
  if (problem !== null) return [problem];
  const unfit = content_type === 'application/json' && !isJson(body);
  return unfit ? [{ path: ['answer', 'body'], message: 'is not JSON' }] : [];
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
