/** Asserted: which handshakes and fixed answers a scheme may hold, and which field is named of the others. */
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';

const inHeader = { location: 'header', name: 'X-Sig', format: 'raw', encoding: 'hex' };
const base = { kind: 'hmac', hash: 'sha256', message: '{body}', signature: inHeader };
const when = [{ location: 'query', name: 'challenge' }];
const answer = { status: 200, content_type: 'text/plain', body: '{query:challenge}' };
const ask = { name: 'ask', method: 'GET', when, answer };
const response = { location: 'response', name: 'token', format: 'raw', encoding: 'hex' };
const signer = { kind: 'hmac', hash: 'sha256', message: '{config:token}', signature: response };
const signing = { ...ask, signature: signer, answer: { ...answer, body: '{signature}' } };
const posted = { ...ask, method: 'POST', when: [{ location: 'body', name: 'challenge' }] };

function problems(scheme: object): string[] {
  const parsed = WebhookScheme.safeParse(scheme);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path }) => path.join('.'));
}

it.each([
  ['a question by GET', ask],
  ['one by HEAD', { name: 'ask', method: 'HEAD', answer: { status: 200 } }],
  ['one that wants our signature', signing],
  ['one that the vendor signs', { ...posted, signed: true }],
  [
    'one that the vendor signs, over its body',
    {
      ...signing,
      ...{ method: 'POST', signed: true, signature: { ...signer, message: '{body}' } },
    },
  ],
])('takes %s', (_what, handshake) => {
  expect(problems({ ...base, handshakes: [handshake] })).toEqual([]);
});

it.each([
  ['signed', { ...posted }],
  ['signed', { ...ask, signed: true }],
  ['when', { ...posted, signed: false, when: [] }],
  ['when.0.name', { ...ask, when: [{ location: 'header', name: 'a b' }] }],
  ['when.0.location', { ...ask, when: [{ location: 'body', name: 'a' }] }],
  ['when.0.absent', { ...ask, when: [{ ...when[0], equals: 'a', absent: true }] }],
  // It never holds: what is empty is not there.
  ['when.0.equals', { ...ask, when: [{ ...when[0], equals: '' }] }],
  ['require.0.equals', { ...ask, require: [{ ...when[0], equals: '' }] }],
  ['require.0.equals', { ...ask, require: [{ ...when[0], equals: '{json:a}' }] }],
  ['answer.body', { ...ask, answer: { ...answer, body: '{nothing:a}' } }],
  ['answer.body', { ...ask, answer: { ...answer, body: '{signature}' } }],
  ['answer.body', { ...ask, answer: { ...answer, content_type: 'application/json', body: '{' } }],
  ['answer.body', { ...ask, method: 'HEAD' }],
  ['answer.content_type', { ...ask, answer: { ...answer, content_type: 'text/html' } }],
  ['answer.content_type', { ...ask, answer: { status: 200, body: 'ok' } }],
  ['answer.status', { ...ask, answer: { ...answer, status: 302 } }],
  ['signature', { ...ask, signature: signer }],
  ['signature.signature.location', { ...signing, signature: { ...signer, signature: inHeader } }],
  ['signature.message', { ...signing, signature: { ...signer, message: '{sorted_params}' } }],
  ['signature.message', { ...signing, signature: { ...signer, message: '{nothing}' } }],
  // Whoever asks could have any delivery signed.
  [
    'signature.message',
    {
      ...signing,
      ...{ method: 'POST', signed: false, signature: { ...signer, message: '{body}' } },
    },
  ],
])('names the field %s of %j', (field, handshake) => {
  const named = problems({ ...base, handshakes: [handshake] });
  expect(new Set(named)).toEqual(new Set([`handshakes.0.${field}`]));
});

it.each([
  ['answer.content_type', { status: 200, content_type: 'text/plain' }],
  ['answer.content_type', { status: 200, body: 'ok' }],
  ['answer.body', { status: 204, content_type: 'text/plain', body: 'ok' }],
  ['answer.body', { status: 200, content_type: 'application/json', body: 'ok' }],
  ['answer.body', { status: 200, content_type: 'text/plain', body: '' }],
  ['answer.status', { status: 500 }],
])('names the field %s of the answer to a delivery %j', (field, fixed) => {
  expect(new Set(problems({ ...base, answer: fixed }))).toEqual(new Set([field]));
});
