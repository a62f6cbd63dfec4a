/** Asserted: what the schema refuses when a scheme is applied, with the field named. */
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import { shippedSchemes } from './fixtures';

const timestamp = { location: 'header', name: 'X-At', unit: 's', tolerance_s: 300 };
const signature = { location: 'header', name: 'X-Sig', format: 'raw', encoding: 'hex' };
const pairs = { ...signature, format: 'pairs', sep: ',', eq: '=', sig_keys: ['v1'] };
const token = { location: 'header', name: 'X-Sig', format: 'raw' };
const base = { kind: 'hmac', hash: 'sha256', key_encoding: 'utf8', message: '{body}', signature };

/** Every field that the schema complains about: the path, or the name of an unknown key. */
const refused = (fields: object): string[] => problems({ ...base, ...fields });

function problems(scheme: object): string[] {
  const parsed = WebhookScheme.safeParse(scheme);
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [...issue.path, key].join('.'))
      : [issue.path.join('.')],
  );
}

it('accepts the smallest scheme, and every shipped one as it is', () => {
  expect(refused({})).toEqual([]);
  for (const [name, scheme] of shippedSchemes) {
    expect([name, WebhookScheme.safeParse(scheme).success]).toEqual([name, true]);
  }
});

/** What every kind needs, and what another kind would need. */
const kinds: readonly (readonly [string, object, readonly string[]])[] = [
  ['hmac', { hash: 'sha256', message: '{body}', signature }, []],
  ['digest', { hash: 'sha256', message: '{secret}{body}', signature }, ['key_encoding']],
  ['ed25519', { message: '{body}', signature }, ['hash']],
  ['ed25519-seed-from-secret', { message: '{body}', signature }, ['hash']],
  ['ecdsa-p256', { message: '{body}', signature }, []],
  ['rsa-pkcs1', { hash: 'sha256', message: '{body}', signature }, []],
  ['jwt', { algorithms: ['ES256'], signature: token }, ['hash', 'message', 'timestamp']],
  ['shared-token', { signature: token }, ['hash', 'key_encoding', 'message', 'timestamp']],
  ['basic-auth', { signature: token }, ['hash', 'key_encoding', 'message', 'timestamp']],
];

it.each(kinds)('the kind %s takes its own fields and no others', (kind, fields, foreign) => {
  expect(problems({ kind, ...fields })).toEqual([]);
  const values = { hash: 'sha256', key_encoding: 'hex', message: '{body}', timestamp, ...fields };
  for (const field of foreign) {
    const given = { kind, ...fields, [field]: (values as Record<string, unknown>)[field] };
    expect(problems(given)).toEqual([field]);
  }
  expect(problems({ kind, ...fields, algorithm: 'x' })).toEqual(['algorithm']);
});

it.each([
  ['algorithms.0', { kind: 'jwt', algorithms: ['none'], signature: token }],
  ['algorithms', { kind: 'jwt', algorithms: [], signature: token }],
  ['algorithms', { kind: 'jwt', algorithms: ['HS256', 'RS256'], signature: token }],
  [
    'body_hash_required',
    { kind: 'jwt', algorithms: ['ES256'], signature: token, body_hash_required: true },
  ],
  [
    'signature.format',
    {
      kind: 'basic-auth',
      signature: { ...token, format: 'pairs', sep: ',', eq: '=', sig_keys: ['a'] },
    },
  ],
  ['message', { kind: 'digest', hash: 'sha256', message: '{body}', signature }],
  ['message', { kind: 'ed25519', message: '{secret}{body}', signature }],
  ['hash', { kind: 'ecdsa-p256', hash: 'sha512', message: '{body}', signature }],
  [
    'key_encoding',
    { kind: 'rsa-pkcs1', hash: 'sha256', key_encoding: 'utf8', message: '{body}', signature },
  ],
  [
    'signature.location',
    {
      kind: 'rsa-pkcs1',
      hash: 'sha256',
      message: '{json:a}',
      signature: { ...signature, location: 'response' },
    },
  ],
  ['delivery_id.location', { ...base, delivery_id: { location: 'claim', name: 'jti' } }],
  // Of several tokens nobody could tell whose claim it is.
  [
    'delivery_id.location',
    {
      ...{ kind: 'jwt', algorithms: ['ES256'], delivery_id: { location: 'claim', name: 'jti' } },
      signature: { ...token, format: 'pairs', sep: ',', eq: '=', sig_keys: ['a'] },
    },
  ],
])('names the field %s of the kind and its fields: %j', (field, scheme) => {
  expect(new Set(problems(scheme))).toEqual(new Set([field]));
});

it.each([
  ['hash', { hash: 'md5' }],
  ['key_encoding', { key_encoding: 'whpk' }],
  ['signature.location', { signature: { ...signature, location: 'cookie' } }],
  ['signature.location', { signature: { ...signature, location: 'response' } }],
  [
    'signature.location',
    { message: '{url}{body}', signature: { ...signature, location: 'query' } },
  ],
  ['signature.location', { signature: { ...signature, location: 'param' } }],
  ['signature.encoding', { signature: { ...signature, encoding: 'binary' } }],
  ['signature.format', { signature: { ...signature, format: 'jws' } }],
  ['signature.prefix', { signature: { ...signature, format: 'prefix' } }],
  ['signature.prefix', { signature: { ...signature, prefix: 'v1=' } }],
  ['signature.sig_keys', { signature: { ...pairs, sig_keys: [] } }],
  ['signature.eq', { signature: { ...pairs, eq: ',' } }],
  // No pair could ever have that key.
  ['signature.sig_keys.0', { signature: { ...pairs, sig_keys: ['v1='] } }],
  ['signature.sig_keys.1', { signature: { ...pairs, sig_keys: ['v1', 'a,b'] } }],
  ['signature.sig_keys.0', { signature: { ...pairs, sig_keys: [' v1'] } }],
  ['signature.name', { signature: { ...signature, name: 'not a header' } }],
  ['timestamp.location', { timestamp: { ...timestamp, location: 'query' } }],
  ['timestamp.name', { message: '{timestamp}{body}', timestamp: { ...timestamp, name: 'a b' } }],
  ['timestamp.name', { timestamp: { location: 'body', unit: 's', tolerance_s: 300 } }],
  ['timestamp.unit', { timestamp: { ...timestamp, unit: 'min' } }],
  [
    'timestamp.tolerance_s',
    { message: '{timestamp}{body}', timestamp: { ...timestamp, tolerance_s: -1 } },
  ],
  ['tolerance_s', { tolerance_s: 300 }],
  ['algorithms', { algorithms: ['HS256'] }],
  ['body_hash_query', { body_hash_query: 'h' }],
  ['url_hash_claim', { url_hash_claim: 'h' }],
  ['delivery_id.name', { delivery_id: { location: 'body', name: 'a..b' } }],
  ['event_type.location', { event_type: { location: 'query', name: 'x' } }],
  ['docs', { docs: 'javascript:alert(1)' }],
])('names the field %s of %j', (field, fields) => {
  expect(refused(fields)).toEqual([field]);
});

it.each([
  '{body}{adyen_item}',
  '{body}{sns}',
  '{body}{hook0_headers}',
  '{body}{signed_headers}',
  '{body}{query:a}',
  '{body}{json:}',
  '{body}{config:}',
  '{body}{Body}',
  '{body}{header:}',
  '{body}{header:a b}',
  '{body}{}',
  '{body}{',
  '{body}}',
  '{{body}}',
])('refuses the message %s', (message) => {
  expect(refused({ message })).toEqual(['message']);
});

it('refuses a message that leaves out the body, or uses what the scheme does not have', () => {
  expect(refused({ message: '{method}' })).toEqual(['message']);
  for (const part of [
    '{json:a.b}',
    '{sorted_params}',
    '{crc32}',
    '{secret}{body}',
    '{config:k}{body}',
  ]) {
    expect(refused({ message: part })).toEqual([]);
  }
  expect(refused({ message: '{id}{body}' })).toEqual(['message']);
  expect(refused({ message: '{timestamp}{body}' })).toEqual(['message']);
});

it('refuses a tolerance on a timestamp that nobody signed', () => {
  expect(refused({ timestamp })).toEqual(['timestamp.tolerance_s']);
  expect(refused({ timestamp: { ...timestamp, tolerance_s: null } })).toEqual([]);
  expect(refused({ timestamp, message: '{timestamp}{body}' })).toEqual([]);
  expect(refused({ timestamp, message: '{header:x-at}{body}' })).toEqual([]);
});

it('refuses a timestamp inside a signature that has no pairs', () => {
  const inside = { ...timestamp, location: 'signature', name: 't' };
  const message = '{timestamp}{body}';
  expect(refused({ message, timestamp: inside })).toEqual(['timestamp.location']);
  expect(refused({ message, timestamp: inside, signature: pairs })).toEqual([]);
});

it.each([
  ...['Authorization', 'cookie', 'X-SIG', 'Host', 'webhook-signature', 'Content-Length'],
  ...['Expect', 'Proxy-Connection'],
])('never keeps the header %s', (name) => {
  expect(refused({ kept_headers: ['X-Ok', name] })).toEqual(['kept_headers.1']);
});
