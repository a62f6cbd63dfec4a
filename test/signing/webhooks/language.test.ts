/** Asserted: the parts of the scheme language that no shipped scheme uses, signed by other code. */
import { createHash, createHmac, createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import { SignJWT } from 'jose';
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import type { WebhookRequest } from '../../../src/signing/webhooks/request';
import { secretProblem } from '../../../src/signing/webhooks/secrets';
import { verify } from '../../../src/signing/webhooks/verify';

const body = Buffer.from('{"a":{"b":[1.0]},"token":"t-1","at":1700000000}');
const hexHeader = { location: 'header', name: 'X-Sig', format: 'raw', encoding: 'hex' };
const hmac = (text: string | Buffer, key: string | Buffer = 'secret') =>
  createHmac('sha256', key).update(text).digest('hex');
const hmacScheme = { kind: 'hmac', hash: 'sha256', message: '{body}', signature: hexHeader };

interface Given {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly url?: string;
  readonly secret?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

async function judge(scheme: object, given: Given) {
  const compiled = compileScheme(WebhookScheme.parse(scheme));
  const request: WebhookRequest = {
    method: 'POST',
    url: given.url ?? 'https://h.test/webhooks/i1',
    headers: Object.entries(given.headers ?? {}),
    body: Buffer.from(given.body ?? body),
    settings: given.settings,
  };
  const secrets = [{ id: 's', value: given.secret ?? 'secret' }];
  return await verify(compiled, request, secrets, { receivedAtMs: 0 });
}

async function outcome(scheme: object, given: Given): Promise<string> {
  const verdict = await judge(scheme, given);
  return verdict.ok ? 'accepted' : verdict.reason;
}

it.each([
  ['{json:a.b.0}|{json:absent}|{json:token}', '1.0||t-1'],
  ['{crc32}.{body}', `${crcOf(body)}.${body.toString()}`],
  ['{config:hook}:{body}', `h-1:${body.toString()}`],
  ['{secret}{body}', `secret${body.toString()}`],
])('message %s', async (message, signed) => {
  const given = { headers: { 'x-sig': hmac(signed) }, settings: { hook: 'h-1' } };
  expect(await outcome({ ...hmacScheme, message }, given)).toBe('accepted');
});

/** CRC-32 by its definition, bit by bit. */
function crcOf(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

it('a setting that the connection lacks is our own fault', async () => {
  const scheme = { ...hmacScheme, message: '{config:hook}{body}' };
  expect(await outcome(scheme, { headers: { 'x-sig': hmac('') } })).toBe('missing_setting');
});

it('the signature may be in the query, in a form field that does not sign itself, or in the body', async () => {
  const inQuery = { ...hmacScheme, signature: { ...hexHeader, location: 'query', name: 's' } };
  expect(await outcome(inQuery, { url: `https://h.test/?s=${hmac(body)}` })).toBe('accepted');
  const twice = `https://h.test/?s=${hmac(body)}&s=00`;
  expect(await outcome(inQuery, { url: twice })).toBe('repeated_signature');
  const param = { ...hexHeader, location: 'param', name: 's' };
  const inForm = { ...hmacScheme, message: '{sorted_params}', signature: param };
  expect(await outcome(inForm, { body: `b=2&s=${hmac('a1a3b2')}&a=3&a=1&a=3` })).toBe('accepted');
  expect(await outcome(inForm, { body: 'b=2' })).toBe('missing_signature');
  const field = { ...hexHeader, location: 'body', name: 'signature.value' };
  const timestamp = { location: 'body', name: 'signature.at', unit: 's', tolerance_s: 300 };
  const inBody = { ...hmacScheme, message: '{timestamp}{json:token}', signature: field, timestamp };
  const text = (value: string, more = '') =>
    `{"signature":{"at":"1700000000","value":"${value}"},"token":"t"${more}}`;
  const verdict = await judge(inBody, { body: text(hmac('1700000000t')) });
  expect(verdict).toMatchObject({ ok: true, signedAtMs: 1_700_000_000_000 });
  expect(await outcome(inBody, { body: text(hmac('1700000000x')) })).toBe('signature_mismatch');
  const doubled = text(hmac('1700000000t'), ',"token":"x"');
  expect(await outcome(inBody, { body: doubled })).toBe('unreadable_body');
});

it('keys: SHA-1 of the text, and an Ed25519 seed made of a short secret', async () => {
  const sha1 = createHash('sha1').update('secret').digest();
  const given = { headers: { 'x-sig': hmac(body, sha1) } };
  expect(await outcome({ ...hmacScheme, key_encoding: 'sha1-of-utf8' }, given)).toBe('accepted');
  const seed = Buffer.from('secretsecretsecretsecretsecretse');
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const seeded = { kind: 'ed25519-seed-from-secret', message: '{body}', signature: hexHeader };
  const signature = sign(null, body, key).toString('hex');
  expect(await outcome(seeded, { headers: { 'x-sig': signature } })).toBe('accepted');
  const other = { headers: { 'x-sig': signature }, secret: 'secrets' };
  expect(await outcome(seeded, other)).toBe('signature_mismatch');
});

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const spki = ec.publicKey.export({ format: 'der', type: 'spki' });

it.each([
  ['PEM', ec.publicKey.export({ format: 'pem', type: 'spki' }).toString()],
  ['JWK', JSON.stringify(ec.publicKey.export({ format: 'jwk' }))],
  ['Base64', spki.toString('base64')],
  ['hex', spki.toString('hex')],
  ['the bare point', spki.subarray(-65).toString('base64')],
])('a public key as %s', async (_form, secret) => {
  const scheme = { kind: 'ecdsa-p256', message: '{body}', signature: hexHeader };
  const signature = sign('sha256', body, ec.privateKey).toString('hex');
  expect(await outcome(scheme, { secret, headers: { 'x-sig': signature } })).toBe('accepted');
});

it.each([
  ['a private key', ec.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()],
  ['a private JWK', JSON.stringify(ec.privateKey.export({ format: 'jwk' }))],
  ['another curve', p384.publicKey.export({ format: 'pem', type: 'spki' }).toString()],
  ['another kind of key', rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString()],
  ['nonsense', 'planted'],
  ['nothing', ''],
])('%s is no public key of ECDSA P-256, and is not quoted', (_what, secret) => {
  const scheme = { kind: 'ecdsa-p256', message: '{body}', signature: hexHeader };
  const problem = secretProblem(compileScheme(WebhookScheme.parse(scheme)), secret);
  expect(problem).not.toBeNull();
  expect(problem).not.toContain('planted');
});

describe('a JWT with a public key', () => {
  const scheme = {
    ...{ kind: 'jwt', algorithms: ['ES256'], iat_tolerance_s: 300 },
    ...{ body_hash_claim: 'request_body_sha256', body_hash_required: true },
    signature: { location: 'header', name: 'X-Jwt', format: 'raw' },
  };
  const secret = JSON.stringify(ec.publicKey.export({ format: 'jwk' }));
  const claims = { request_body_sha256: createHash('sha256').update(body).digest('hex') };
  const token = (more: object = {}, alg = 'ES256', key = ec.privateKey) =>
    new SignJWT({ ...claims, iat: 1_700_000_000, ...more }).setProtectedHeader({ alg }).sign(key);
  const given = async (made: Promise<string>) => ({ secret, headers: { 'x-jwt': await made } });

  it('is judged by its age, and by the hash of the body', async () => {
    expect(await judge(scheme, await given(token()))).toEqual({
      ...{ ok: true, secretId: 's', signedAtMs: 1_700_000_000_000 },
      // However old it may be, it is at most a minute ahead, as for every other kind.
      limits: { behindMs: 300_000, aheadMs: 60_000 },
    });
    const lacking = await given(token({ request_body_sha256: undefined }));
    expect(await outcome(scheme, lacking)).toBe('claim_mismatch');
    expect(await outcome(scheme, { ...lacking, body: '' })).toBe('claim_mismatch');
    expect(await outcome(scheme, await given(token({ iat: undefined })))).toBe('missing_timestamp');
    expect(await outcome(scheme, await given(token({ exp: 'soon' as never })))).toBe(
      'malformed_timestamp',
    );
  });

  it('of another algorithm or key is refused', async () => {
    const asHmac = token({}, 'HS256', Buffer.from(secret) as never);
    expect(await outcome(scheme, await given(asHmac))).toBe('algorithm_refused');
    const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const other = token({}, 'ES256', foreign);
    expect(await outcome(scheme, await given(other))).toBe('signature_mismatch');
    expect(await outcome(scheme, await given(Promise.resolve('a.b')))).toBe('malformed_signature');
  });
});

describe('messages of Amazon SNS', () => {
  const scheme = {
    ...{ kind: 'rsa-pkcs1', hash: 'sha256', message: '{sns}' },
    signature: { location: 'body', name: 'Signature', format: 'raw', encoding: 'base64' },
    timestamp: { location: 'body', name: 'Timestamp', unit: 'iso', tolerance_s: 3600 },
  };
  const secret = rsa.publicKey.export({ format: 'pem', type: 'spki' }).toString();
  const message = {
    ...{ Type: 'Notification', MessageId: 'm', TopicArn: 'arn', Message: 'é\n"x"' },
    Timestamp: '2023-11-14T22:13:20.000Z',
  };
  const lines = (fields: Readonly<Record<string, string>>, names: readonly string[]) =>
    names.map((name) => `${name}\n${fields[name] ?? ''}\n`).join('');
  const signed = (
    fields: Readonly<Record<string, string>>,
    names: readonly string[],
    more = {},
  ) => {
    const Signature = sign('sha256', Buffer.from(lines(fields, names)), rsa.privateKey).toString(
      'base64',
    );
    return { secret, body: JSON.stringify({ ...fields, ...more, Signature }) };
  };
  const plain = ['Message', 'MessageId', 'Timestamp', 'TopicArn', 'Type'];

  it('are signed by their fields, the subject only where there is one', async () => {
    expect(await judge(scheme, signed(message, plain))).toMatchObject({
      ok: true,
      signedAtMs: 1_700_000_000_000,
    });
    const named = ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'];
    expect(await outcome(scheme, signed({ ...message, Subject: 's' }, named))).toBe('accepted');
    const confirming = {
      ...message,
      Type: 'SubscriptionConfirmation',
      Token: 't',
      SubscribeURL: 'u',
    };
    const names = [
      'Message',
      'MessageId',
      'SubscribeURL',
      'Timestamp',
      'Token',
      'TopicArn',
      'Type',
    ];
    expect(await outcome(scheme, signed(confirming, names))).toBe('accepted');
    expect(await outcome(scheme, signed({ ...message, Type: 'Other' }, plain))).toBe(
      'unreadable_body',
    );
  });

  it.each([
    ['https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-1.pem', 'accepted'],
    ['http://sns.eu-west-1.amazonaws.com/a.pem', 'untrusted_certificate'],
    ['https://sns.eu-west-1.amazonaws.com.evil.test/a.pem', 'untrusted_certificate'],
    ['https://evil.test/sns.eu-west-1.amazonaws.com/a.pem', 'untrusted_certificate'],
    ['https://sns.eu-west-1.amazonaws.com@evil.test/a.pem', 'untrusted_certificate'],
    ['nonsense', 'untrusted_certificate'],
  ])('with a certificate at %s are %s', async (SigningCertURL, expected) => {
    expect(await outcome(scheme, signed(message, plain, { SigningCertURL }))).toBe(expected);
  });
});

it('signed headers are those that the request lists, of which the time must be one', async () => {
  const timestamp = {
    location: 'header',
    name: 'X-Contentful-Timestamp',
    unit: 'ms',
    tolerance_s: 30,
  };
  const message = '{method}\\n{path}\\n{contentful_headers}\\n{body}';
  const scheme = { ...hmacScheme, message, timestamp };
  const list = (names: string) => ({
    ...{ 'X-Contentful-Signed-Headers': names, 'X-Contentful-Timestamp': '1700000000000' },
  });
  const text = (names: string, headers: string) =>
    `POST\n/webhooks/i1\nx-contentful-signed-headers:${names}${headers}\n${body.toString()}`;
  const names = 'x-contentful-signed-headers,x-contentful-timestamp';
  const good = hmac(text(names, ';x-contentful-timestamp:1700000000000'));
  expect(await outcome(scheme, { headers: { ...list(names), 'x-sig': good } })).toBe('accepted');
  const fewer = 'x-contentful-signed-headers';
  const unsigned = { ...list(fewer), 'x-sig': hmac(text(fewer, '')) };
  expect(await outcome(scheme, { headers: unsigned })).toBe('unsigned_timestamp');
  expect(await outcome(scheme, { headers: { 'x-sig': good } })).toBe('missing_timestamp');

  const pairs = { ...hexHeader, format: 'pairs', sep: ',', eq: '=', sig_keys: ['v1'] };
  const hook0 = {
    ...{ ...hmacScheme, message: '{timestamp}.{hook0_headers}.{body}', signature: pairs },
    timestamp: { location: 'signature', name: 't', unit: 's', tolerance_s: 300 },
  };
  const mac = hmac(`1700000000.x-id x-type.7.a.b.${body.toString()}`);
  const headers = { 'x-sig': `t=1700000000,h=x-id x-type,v1=${mac}`, 'X-Id': '7', 'X-Type': 'a.b' };
  expect(await outcome(hook0, { headers })).toBe('accepted');
  expect(await outcome(hook0, { headers: { ...headers, 'X-Type': 'c' } })).toBe(
    'signature_mismatch',
  );
  expect(await outcome(hook0, { headers: { 'x-sig': headers['x-sig'] } })).toBe('missing_header');
});

it('tokens may stand anywhere, behind a prefix, and are compared as a whole', async () => {
  const place = { location: 'header', name: 'Authorization', format: 'prefix', prefix: 'Bearer ' };
  const bearer = { kind: 'shared-token', signature: place };
  const sent = (text: string) => outcome(bearer, { headers: { authorization: text } });
  expect(await sent('Bearer secret')).toBe('accepted');
  expect(await sent('Bearer secre')).toBe('signature_mismatch');
  expect(await sent('bearer secret')).toBe('malformed_signature');
  const inBody = {
    kind: 'shared-token',
    signature: { location: 'body', name: 'token', format: 'raw' },
  };
  expect(await outcome(inBody, { secret: 't-1' })).toBe('accepted');
  expect(await outcome(inBody, { secret: 't-2' })).toBe('signature_mismatch');
});
