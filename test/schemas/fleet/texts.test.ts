/**
 * Texts that YAML can write and Postgres cannot hold: each is a mistake that names its field, whatever
 * field of whatever kind it stands in. Nothing is doubled; no database is asked.
 */
import { readFleet } from '../../../src/schemas/fleet';
import { FLEET_KINDS } from '../../../src/schemas/fleet/documents';

const SCHEME = {
  ...{ kind: 'hmac', hash: 'sha256', key_encoding: 'utf8', message: '{timestamp}.{body}' },
  signature: { location: 'header', name: 'x-s', format: 'pairs', sep: ',', eq: '=' },
  timestamp: { location: 'header', name: 'x-t', unit: 's', tolerance_s: 5, tolerance_basis: 'it' },
};
const DID = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK';
const PEER = { did: DID, principalId: 'p', principalKind: 'k' };

/** Every text that a document may have. */
const DOCUMENTS: readonly (Readonly<Record<string, unknown>> & { readonly kind: string })[] = [
  {
    ...{ kind: 'Settings', replicaLease: '30s', circuitOpen: '1s', requiredEvidence: ['sbom'] },
    defaultRetry: { attempts: 3, backoff: 'exponential', base: '1s', max: '2s' },
    trustedSigners: { release: { kty: 'OKP', crv: 'Ed25519', x: 'a', kid: 'k' } },
    targetAddresses: { allow: ['127.0.0.0/8'] },
    workflowTargets: [{ taskQueue: 'q', type: 't', tenants: ['acme'] }],
  },
  {
    ...{ kind: 'Capability', id: 'a', interface: 'b', sideEffect: 'read', recovery: 'none' },
    ...{ requestSchema: { description: 'it' }, resultSchema: { enum: ['it'] }, timeout: '1s' },
  },
  {
    ...{ kind: 'Connector', id: 'a', name: 'A', provider: 'b', tenant: 'acme', version: '1.0.0' },
    ...{ status: 'active', webhookScheme: { ...SCHEME, sig_keys: ['v1'] }, profiles: ['p'] },
    ...{ manifestDigest: 'aa', artifactDigest: 'bb', capabilities: ['a'] },
    rateLimit: { permits: 1, per: '1s', burst: 1 },
  },
  { kind: 'Evidence', id: 'a', statement: 'a.b.c' },
  { kind: 'QuotaPolicy', id: 'a', limits: {} },
  {
    ...{ kind: 'Instance', tenant: 'acme', id: 'a', connector: 'b', version: '1.0.0' },
    ...{ grants: ['tool'], status: 'enabled', config: { a: { b: ['it'] } }, secretRef: 'file:a' },
    credentials: [{ revision: 'r1', status: 'active' }],
  },
  {
    ...{ kind: 'Binding', tenant: 'acme', capability: 'a', instance: 'b', spill: 'never' },
    ...{ credentialRevision: 'r1', quotaPolicy: 'q' },
  },
  {
    ...{ kind: 'Replica', tenant: 'acme', id: 'a', instance: 'b', version: '1', peer: PEER },
    ...{ endpoint: 'https://h.test/a', transport: 'https', trustDomain: 'acme', region: 'eu' },
    ...{ zone: 'a', capacityClass: 'c', capacity: 1 },
  },
  {
    ...{ kind: 'Target', tenant: 'acme', id: 'a' },
    http: {
      ...{ url: 'http://x.test/a', timeout: '1s', secretRefs: ['file:a'] },
      success: { pointer: '/ok', equals: 'yes' },
    },
    action: { capability: 'a', request: { a: { from: '/x' }, b: 'c' }, affinity: { from: '/y' } },
    workflow: { taskQueue: 'q', type: 't', signal: 's' },
  },
  {
    ...{ kind: 'Subscription', tenant: 'acme', id: 'a', instance: 'b', target: 'c' },
    ...{ eventTypes: ['push'], state: 'active', retry: { attempts: 2, backoff: ['1s'] } },
    ingress: {
      ...{ ref: 'abcdefgh12', bodyLimit: '1MiB' },
      secrets: [{ id: 'a', ref: 'file:a', notBefore: '2026-01-31T00:00:00Z' }],
    },
  },
  {
    ...{ kind: 'EventSink', tenant: 'acme', id: 'a', url: 'https://s.test/a', timeout: '1s' },
    ...{ types: ['delivery-failed'], secretRefs: ['file:a'], state: 'active' },
  },
];

/** The value with that text behind each of its texts in turn, and which one that was. */
function* spoilt(value: unknown, odd: string): Generator<readonly [path: string, value: unknown]> {
  if (typeof value === 'string') yield ['', `${value}${odd}`];
  if (typeof value !== 'object' || value === null) return;
  const fields: [string, unknown][] = Object.entries(value);
  for (const [key, inner] of fields) {
    for (const [path, changed] of spoilt(inner, odd)) {
      const copy = fields.map(([name, one]) => [name, name === key ? changed : one] as const);
      if (Array.isArray(value)) yield [`[${key}]${path}`, copy.map(([, one]) => one)];
      else yield [`.${key}${path}`, Object.fromEntries(copy)];
    }
  }
}

test('there is a document of every kind', () => {
  expect(DOCUMENTS.map(({ kind }) => kind)).toEqual([...FLEET_KINDS]);
});

test.each([
  ['NUL', '\0'],
  ['half of a surrogate pair', '\ud800'],
])('%s is a mistake of the field that holds it', (_what, odd) => {
  const silent: string[] = [];
  for (const document of DOCUMENTS) {
    for (const [path, changed] of spoilt(document, odd)) {
      const { mistakes } = readFleet(JSON.stringify(changed), new Map());
      const field = path.slice(1);
      const named = mistakes.some((mistake) => mistake.field === field);
      if (!named) silent.push(`${document.kind} ${field}`);
    }
  }
  expect(silent).toEqual([]);
});

test('a mistake is told once, with what to do, on its line', () => {
  const text =
    'kind: Subscription\ntenant: acme\nid: a\ninstance: b\ntarget: c\neventTypes: ["a\\0"]\n';
  const { mistakes } = readFleet(text, new Map());
  expect(mistakes).toEqual([
    expect.objectContaining({
      ...{ line: 6, field: 'eventTypes[0]', document: 'Subscription acme/a (document 1)' },
      problem: 'must hold no NUL and no half of a surrogate pair',
    }),
  ]);
});

test('a group within its own anchor is a mistake, and no end of them', () => {
  const text = '&a\nkind: QuotaPolicy\nid: a\nlimits: {}\nmore: { a: *a, b: *a }\n';
  expect(readFleet(text, new Map()).mistakes).toMatchObject([{ field: 'more' }]);
});

test('a field called __proto__ is as unknown as any other', () => {
  const text = '{"kind": "QuotaPolicy", "id": "a", "limits": {}, "__proto__": {"a": 1}}';
  expect(readFleet(text, new Map()).mistakes).toMatchObject([{ field: '__proto__' }]);
});
