/** Asserted: what the schema refuses when a scheme is applied, with the field named. */
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import { shippedScheme } from './fixtures';

const timestamp = { location: 'header', name: 'X-At', unit: 's', tolerance_s: 300 };
const signature = { location: 'header', name: 'X-Sig', format: 'raw', encoding: 'hex' };
const pairs = { ...signature, format: 'pairs', sep: ',', eq: '=', sig_keys: ['v1'] };
const base = { kind: 'hmac', hash: 'sha256', key_encoding: 'utf8', message: '{body}', signature };

/** Every field that the schema complains about: the path, or the name of an unknown key. */
function refused(fields: object): string[] {
  const parsed = WebhookScheme.safeParse({ ...base, ...fields });
  if (parsed.success) return [];
  return parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => [...issue.path, key].join('.'))
      : [issue.path.join('.')],
  );
}

it('accepts the smallest scheme, and every shipped one as it is', () => {
  expect(refused({})).toEqual([]);
  for (const name of ['github', 'slack', 'standard-webhooks', 'stripe']) {
    expect(refused(shippedScheme(name))).toEqual([]);
  }
});

it.each([
  'digest',
  'ed25519',
  'ed25519-seed-from-secret',
  'ecdsa-p256',
  'rsa-pkcs1',
  'jwt',
  'shared-token',
  'basic-auth',
])('refuses the kind %s, which this version cannot verify', (kind) => {
  expect(refused({ kind })).toEqual(['kind']);
});

it.each([
  ['hash', { hash: 'md5' }],
  ['key_encoding', { key_encoding: 'whpk' }],
  ['key_encoding', { key_encoding: 'sha1-of-utf8' }],
  ['signature.location', { signature: { ...signature, location: 'query' } }],
  ['signature.encoding', { signature: { ...signature, encoding: 'binary' } }],
  ['signature.format', { signature: { ...signature, format: 'jws' } }],
  ['signature.prefix', { signature: { ...signature, format: 'prefix' } }],
  ['signature.prefix', { signature: { ...signature, prefix: 'v1=' } }],
  ['signature.sig_keys', { signature: { ...pairs, sig_keys: [] } }],
  ['signature.eq', { signature: { ...pairs, eq: ',' } }],
  ['signature.name', { signature: { ...signature, name: 'not a header' } }],
  ['timestamp.location', { timestamp: { ...timestamp, location: 'body' } }],
  ['timestamp.unit', { timestamp: { ...timestamp, unit: 'min' } }],
  [
    'timestamp.tolerance_s',
    { message: '{timestamp}{body}', timestamp: { ...timestamp, tolerance_s: -1 } },
  ],
  ['tolerance_s', { tolerance_s: 300 }],
  ['algorithms', { algorithms: ['HS256'] }],
  ['body_hash_query', { body_hash_query: 'h' }],
  ['handshakes', { handshakes: [] }],
  ['delivery_id.name', { delivery_id: { location: 'body', name: 'a..b' } }],
  ['event_type.location', { event_type: { location: 'query', name: 'x' } }],
  ['docs', { docs: 'javascript:alert(1)' }],
])('names the field %s of %j', (field, fields) => {
  expect(refused(fields)).toEqual([field]);
});

it.each([
  '{body}{secret}',
  '{body}{sorted_params}',
  '{body}{json:a.b}',
  '{body}{config:k}',
  '{body}{crc32}',
  '{body}{adyen_item}',
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

it.each(['Authorization', 'cookie', 'X-SIG', 'Host', 'webhook-signature', 'Content-Length'])(
  'never keeps the header %s',
  (name) => {
    expect(refused({ kept_headers: ['X-Ok', name] })).toEqual(['kept_headers.1']);
  },
);
