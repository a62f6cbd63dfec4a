/** Asserted: the parts of the scheme language that no shipped scheme uses, one by one. */
import { createHmac } from 'node:crypto';
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { pathOf } from '../../../src/signing/webhooks/request';
import { secretProblem } from '../../../src/signing/webhooks/secrets';
import { verify } from '../../../src/signing/webhooks/verify';

const body = Buffer.from('{"a":1}');
const url = 'https://hooks.example.test/webhooks/i1?a=b%20c';

const base = {
  kind: 'hmac',
  hash: 'sha256',
  key_encoding: 'utf8',
  message: '{body}',
  signature: { location: 'header', name: 'X-Sig', format: 'raw', encoding: 'hex' },
};

type Headers = readonly (readonly [string, string])[];

async function check(fields: object, headers: Headers, secret = 'secret') {
  const compiled = compileScheme(WebhookScheme.parse({ ...base, ...fields }));
  const request = { method: 'post', url, headers, body };
  const secrets = [{ id: 's', value: secret }];
  const verification = await verify(compiled, request, secrets, { receivedAtMs: 0 });
  return verification.ok ? 'accepted' : verification.reason;
}

function hmac(text: string | Buffer, encoding: 'hex' | 'base64' | 'base64url' = 'hex') {
  return createHmac('sha256', 'secret').update(text).digest(encoding);
}

it.each(['sha1', 'sha256', 'sha384', 'sha512'])('hash %s', async (hash) => {
  const digest = createHmac(hash, 'secret').update(body).digest('hex');
  expect(await check({ hash }, [['x-sig', digest]])).toBe('accepted');
});

it.each(['hex', 'base64', 'base64url'] as const)('signature encoding %s', async (encoding) => {
  const signature = { ...base.signature, encoding };
  expect(await check({ signature }, [['x-sig', hmac(body, encoding)]])).toBe('accepted');
  expect(await check({ signature }, [['x-sig', `${hmac(body, encoding)}=`]])).toBe(
    'malformed_signature',
  );
  expect(await check({ signature }, [['x-sig', ` ${hmac(body, encoding)}`]])).toBe(
    'malformed_signature',
  );
});

it.each([
  ['hex', '736563726574'],
  ['hex', '736563726574'.toUpperCase()],
  ['base64', 'c2VjcmV0'],
  ['whsec', 'whsec_c2VjcmV0'],
  ['whsec', 'c2VjcmV0'],
])('key encoding %s', async (key_encoding, secret) => {
  expect(await check({ key_encoding }, [['x-sig', hmac(body)]], secret)).toBe('accepted');
});

it.each([
  ['hex', 'xyz'],
  ['hex', '7'],
  ['base64', 'c2VjcmV0*'],
  ['base64', 'c2VjcmV'],
  ['whsec', 'whsec_'],
  ['whsec', 'whsec_c2VjcmV'],
])(
  'a secret that is no key in the encoding %s is refused, unquoted: %s',
  (key_encoding, secret) => {
    const compiled = compileScheme(WebhookScheme.parse({ ...base, key_encoding }));
    const problem = secretProblem(compiled, secret);
    expect(problem).toContain(key_encoding);
    expect(problem).not.toContain(secret);
  },
);

it.each([
  ['{method} {path}\\n{body}', 'POST /webhooks/i1?a=b%20c\n{"a":1}'],
  ['{url}{body}', `${url}{"a":1}`],
  ['{header:X-Nonce}.{body}', 'n-1.{"a":1}'],
  ['é{body}{body}', 'é{"a":1}{"a":1}'],
])('message %s', async (message, signed) => {
  const headers: Headers = [
    ['X-Sig', hmac(signed)],
    ['x-NONCE', 'n-1'],
  ];
  expect(await check({ message }, headers)).toBe('accepted');
});

it('takes a header of bytes above ASCII as the bytes that were sent', async () => {
  const sent = Buffer.from('à', 'utf8');
  const signed = Buffer.concat([sent, body]);
  const headers: Headers = [
    ['X-Sig', hmac(signed)],
    ['X-Nonce', sent.toString('latin1')],
  ];
  expect(await check({ message: '{header:X-Nonce}{body}' }, headers)).toBe('accepted');
});

it.each(['id', 'header'])('names a missing and a repeated %s', async (kind) => {
  const fields =
    kind === 'id'
      ? { message: '{id}{body}', id_header: 'X-Part' }
      : { message: '{header:X-Part}{body}' };
  const good: Headers = [['X-Sig', hmac(`1{"a":1}`)]];
  expect(await check(fields, [...good, ['X-Part', '1']])).toBe('accepted');
  expect(await check(fields, good)).toBe(`missing_${kind}`);
  expect(await check(fields, [...good, ['X-Part', '']])).toBe(`missing_${kind}`);
  expect(await check(fields, [...good, ['X-Part', '1'], ['X-Part', '2']])).toBe(`repeated_${kind}`);
});

it.each([
  ['ms', '1700000000123', 1_700_000_000_123],
  ['s', '1700000000', 1_700_000_000_000],
  ['iso', '2023-11-14T22:13:20.5Z', 1_700_000_000_500],
  ['iso', '2023-11-14T15:13:20-07:00', 1_700_000_000_000],
  ['ms', '1700000000.5', 'malformed_timestamp'],
  ['iso', '2023-11-14 22:13:20Z', 'malformed_timestamp'],
  ['iso', '2023-11-14T22:13:20', 'malformed_timestamp'],
  ['iso', '2023-13-14T22:13:20Z', 'malformed_timestamp'],
  ['iso', '1700000000', 'malformed_timestamp'],
])('unit %s reads %s', async (unit, text, expected) => {
  const timestamp = { location: 'header', name: 'X-At', unit, tolerance_s: null };
  const scheme = WebhookScheme.parse({ ...base, message: '{timestamp}{body}', timestamp });
  const headers: Headers = [
    ['X-Sig', hmac(`${text}{"a":1}`)],
    ['X-At', text],
  ];
  const request = { method: 'POST', url, headers, body };
  const secrets = [{ id: 's', value: 'secret' }];
  const result = await verify(compileScheme(scheme), request, secrets, { receivedAtMs: 0 });
  expect(result.ok ? result.signedAtMs : result.reason).toBe(expected);
});

it('accepts any listed signature under any listed key, in any order, and no other key', async () => {
  const signature = { ...base.signature, format: 'pairs', sep: ',', eq: '=', sig_keys: ['a', 'b'] };
  const [good, bad] = [hmac(body), hmac('other')];
  const list = (text: string) => check({ signature }, [['X-Sig', text]]);
  expect(await list(`a=${bad},b=${good}`)).toBe('accepted');
  expect(await list(`b=${good}, a=not-hex, junk,`)).toBe('accepted');
  expect(await list(`a=${bad},b=${bad}`)).toBe('signature_mismatch');
  expect(await list(`c=${good}`)).toBe('malformed_signature');
  expect(await list(`a=${bad},c=${good}`)).toBe('signature_mismatch');
});

it.each([
  ['https://h.test/a/../b?c#d', '/a/../b?c#d'],
  ['https://h.test', '/'],
  ['https://h.test?x=1', '/?x=1'],
  ['/already/path', '/already/path'],
])('the path of %s is %s', (full, path) => {
  expect(pathOf(full)).toBe(path);
});
