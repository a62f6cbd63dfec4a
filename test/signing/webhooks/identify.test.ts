/** Asserted: which id, event type and headers a delivery gets from a verified request. */
import { WebhookScheme } from '../../../src/schemas/webhook-schemes';
import { compileScheme } from '../../../src/signing/webhooks/compile';
import { identify } from '../../../src/signing/webhooks/identify';
import { requestOf, shippedScheme } from './fixtures';

const digest = 'ab'.repeat(32);
const github = compileScheme(shippedScheme('github'));
const stripe = compileScheme(shippedScheme('stripe'));
const slack = compileScheme(shippedScheme('slack'));

function identity(
  compiled: typeof github,
  body: string,
  headers: readonly (readonly [string, string])[] = [],
) {
  return identify(compiled, requestOf(headers, Buffer.from(body)), digest);
}

it('takes id and event type from headers in any case; ping is an event like others', () => {
  const headers = [
    ['x-GITHUB-delivery', '72d3162e-cc78-11e3-81ab-4c9367dc0958'],
    ['X-GitHub-Event', 'ping'],
  ] as const;
  expect(identity(github, '{}', headers)).toMatchObject({
    externalId: '72d3162e-cc78-11e3-81ab-4c9367dc0958',
    externalIdFrom: 'header',
    eventType: 'ping',
  });
});

it.each([
  [[]],
  [[['X-GitHub-Delivery', '']]],
  [
    [
      ['X-GitHub-Delivery', 'a'],
      ['X-GitHub-Delivery', 'b'],
    ],
  ],
])(
  'falls back to the digest of the body when the id header is absent, empty or ambiguous: %j',
  (headers) => {
    const pairs = headers.map(([name = '', value = '']) => [name, value] as const);
    expect(identity(github, '{}', pairs)).toMatchObject({
      externalId: `sha256:${digest}`,
      externalIdFrom: 'content',
      eventType: null,
    });
  },
);

it('keeps every digit of a large numeric id', () => {
  const one = identity(stripe, '{"id": 2868860079149422351, "type": "a"}');
  const two = identity(stripe, '{"id": 2868860079149422352, "type": "a"}');
  expect(one).toMatchObject({ externalId: '2868860079149422351', externalIdFrom: 'body' });
  expect(two.externalId).toBe('2868860079149422352');
});

it.each([
  ['header', 'raw', {}],
  ['header', 'prefix', { prefix: 'Bearer ' }],
  ['query', 'raw', {}],
  ['body', 'raw', {}],
])('reads a claim with every digit, from a token in %s as %s', (location, format, more) => {
  const scheme = compileScheme(
    WebhookScheme.parse({
      ...{ kind: 'jwt', algorithms: ['ES256'], delivery_id: { location: 'claim', name: 'jti' } },
      signature: { location, name: 'tok', format, ...more },
    }),
  );
  const idOf = (jti: string): string => {
    const claims = Buffer.from(`{"jti":${jti},"iat":1}`).toString('base64url');
    const token = `${'prefix' in more ? more.prefix : ''}e30.${claims}.c2ln`;
    const body = Buffer.from(JSON.stringify({ tok: token }));
    const request = requestOf(location === 'header' ? [['Tok', token]] : [], body);
    const url = location === 'query' ? `https://h.test/?tok=${token}` : request.url;
    return identify(scheme, { ...request, url }, digest).externalId;
  };
  expect(idOf('2868860079149422351')).toBe('2868860079149422351');
  expect(idOf('2868860079149422352')).toBe('2868860079149422352');
  expect(idOf('"a"')).toBe('a');
  expect(idOf('{"a":1}')).toBe(`sha256:${digest}`);
});

it.each(['', 'no json', '{"id":null}', '{"id":""}', '{"id":{"a":1}}', '[]', '"text"', '{"id":'])(
  'falls back to the digest of the body when it holds no id: %s',
  (body) => {
    expect(identity(stripe, body).externalId).toBe(`sha256:${digest}`);
  },
);

it('reads a body that repeats a key, nests without end or names prototype members', () => {
  expect(identity(stripe, '{"id":"a","id":"b"}').externalId).toBe('b');
  const deep = '['.repeat(200_000);
  expect(identity(stripe, deep).externalIdFrom).toBe('content');
  expect(identity(stripe, '{"__proto__":{"id":"x","type":"y"}}')).toMatchObject({
    externalIdFrom: 'content',
    eventType: null,
  });
});

it('replaces an id that no row could hold by its digest, and keeps unlike ids apart', () => {
  const ids = ['x'.repeat(257), 'x'.repeat(258), '\\u0000', '\\ud800', '\\ud801'];
  const stored = ids.map((id) => identity(stripe, `{"id":"${id}"}`).externalId);
  expect(new Set(stored).size).toBe(ids.length);
  for (const id of stored) expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(identity(stripe, `{"type":"${'x'.repeat(257)}"}`).eventType).toBeNull();
});

it('takes the first of several places that holds an event type', () => {
  const envelope = { type: 'event_callback', event_id: 'Ev1', event: { type: 'app_mention' } };
  expect(identity(slack, JSON.stringify(envelope))).toMatchObject({
    externalId: 'Ev1',
    eventType: 'app_mention',
  });
  expect(identity(slack, '{"type":"url_verification"}').eventType).toBe('url_verification');
  expect(identity(slack, 'command=%2Fx&text=').eventType).toBeNull();
});

it('keeps the named headers only', () => {
  const headers = [
    ['Authorization', 'Bearer planted'],
    ['X-Hub-Signature-256', 'sha256=00'],
    ['CONTENT-TYPE', 'application/json'],
    ['X-GitHub-Event', 'push'],
  ] as const;
  expect(identity(github, '{}', headers).keptHeaders).toEqual([
    ['content-type', 'application/json'],
    ['x-github-event', 'push'],
  ]);
});
