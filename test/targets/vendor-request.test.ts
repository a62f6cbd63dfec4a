/** What is filled in keeps to its place, whatever it is. Pure. */
import { judgeSending } from '../../src/domain/sending-verdicts';
import type { HttpOperation } from '../../src/schemas/outbound';
import { urlParts } from '../../src/schemas/text-templates';
import { vendorRequest } from '../../src/targets/vendor-request';
import { httpOperation } from '../support/sending-rig';

const CONFIG = { host: 'eu.vendor.test:8443', base: 'https://self.test/api/', region: 'eu' };

function build(
  operation: Partial<HttpOperation>,
  payload: unknown,
  config: object | null = CONFIG,
) {
  const bytes = typeof payload === 'string' ? payload : JSON.stringify(payload);
  return vendorRequest(httpOperation('https://vendor.test', operation), {
    ...{ payload: Buffer.from(bytes), contentType: 'application/json' },
    config: config as Record<string, unknown> | null,
  });
}

const urlOf = (url: string, payload: unknown) => {
  const built = build({ url }, payload);
  return built.kind === 'built' ? built.request.url : built.problem;
};

test.each<[string, unknown, string]>([
  ['https://vendor.test/a/{payload/id}', { id: 7 }, 'https://vendor.test/a/7'],
  [
    'https://vendor.test/a/{payload/id}/b',
    { id: 'x/y?z#w' },
    'https://vendor.test/a/x%2Fy%3Fz%23w/b',
  ],
  [
    'https://vendor.test/a/{payload/id}',
    { id: "é%2F'(*)!" },
    'https://vendor.test/a/%C3%A9%252F%27%28%2A%29%21',
  ],
  [
    'https://vendor.test/a?q={payload/q}&r=1',
    { q: 'a&b=c d' },
    'https://vendor.test/a?q=a%26b%3Dc%20d&r=1',
  ],
  ['https://vendor.test/a/x{payload/id}', { id: '..' }, 'https://vendor.test/a/x..'],
  [
    'https://vendor.test/{payload/deep/0/a~1b}',
    { deep: [{ 'a/b': true }] },
    'https://vendor.test/true',
  ],
  ['https://{config/host}/v1/{config/region}', {}, 'https://eu.vendor.test:8443/v1/eu'],
  ['{config/base}/orders', {}, 'https://self.test/api/orders'],
  ['{config/base}?a={payload/a}', { a: 1 }, 'https://self.test/api?a=1'],
])('%s of %j is %s', (template, payload, url) => {
  expect(urlOf(template, payload)).toBe(url);
});

test.each<[string, unknown, RegExp]>([
  ['https://vendor.test/a/{payload/id}', {}, /nothing at \{payload\/id\}/],
  ['https://vendor.test/a/{payload/id}', { id: '' }, /is empty/],
  ['https://vendor.test/a/{payload/id}', { id: { n: 1 } }, /no text/],
  ['https://vendor.test/a/{payload/id}', { id: null }, /no text/],
  ['https://vendor.test/a/{payload/id}', '{"id":"\\ud800"}', /no text/],
  ['https://vendor.test/a/{payload/id}/b', { id: '..' }, /\. or \.\./],
  ['https://vendor.test/a/{payload/id}', { id: '.' }, /\. or \.\./],
  ['https://vendor.test/a/{payload/x}{payload/y}/b', { x: '.', y: '.' }, /\. or \.\./],
  ['https://vendor.test/a/{payload/id}', 'no json', /no JSON/],
  ['https://vendor.test/a/{payload/id}', { id: 'x'.repeat(9_000) }, /would be none/],
  ['https://{payload/host}/a', { host: 'evil.test' }, /must not depend on the payload/],
])('%s of %j is no request: %s', (template, payload, said) => {
  expect(urlOf(template, payload)).toMatch(said);
});

test.each<[string, object, RegExp]>([
  ['https://{config/host}/a', { host: 'vendor.test@evil.test' }, /no host/],
  ['https://{config/host}/a', { host: 'vendor.test/../..' }, /no host/],
  ['{config/base}/a', { base: 'https://user:pw@vendor.test' }, /no base address/],
  ['{config/base}/a', { base: 'file:///etc/passwd' }, /no base address/],
  ['{config/base}/a', { base: 'https://vendor.test/?a=' }, /no base address/],
])('%s of a configuration %j is no request', (url, config, said) => {
  expect(build({ url }, {}, config)).toMatchObject({
    kind: 'unfit',
    problem: expect.stringMatching(said) as string,
  });
});

test('B017: a number keeps every digit, wherever it is filled in', () => {
  const id = '2868860079149422351';
  const payload = `{"id":${id},"sum":0.30,"text":"a \\" ${id}"}`;
  const body = { ids: [{ from: '/id' }], sum: { from: '/sum' }, text: { from: '/text' } };
  const headers = { 'x-id': '{payload/id}' };
  const url = 'https://vendor.test/{payload/id}';
  const built = build({ url, headers, body }, payload);
  expect(built).toMatchObject({
    request: { url: `https://vendor.test/${id}`, headers: { 'x-id': id } },
  });
  const text = built.kind === 'built' ? String(built.request.body) : '';
  expect(text).toBe(`{"ids":[${id}],"sum":0.3,"text":"a \\" ${id}"}`);
});

test('no value ends a header or begins another one', () => {
  const headers = { 'x-title': 'order {payload/title}' };
  expect(build({ headers }, { title: 'seven' })).toMatchObject({
    request: { headers: { 'x-title': 'order seven' } },
  });
  for (const title of ['a\r\nx-admin: 1', 'a\0b', 'é', 'x'.repeat(3_000)]) {
    expect(build({ headers }, { title })).toMatchObject({ kind: 'unfit' });
  }
});

test('a body is filled from payload and configuration, or is the payload as it came', () => {
  const body = { amount: { from: '/sum' }, region: { config: '/region' }, fixed: ['a', null] };
  const built = build({ body, headers: { accept: 'text/plain' } }, { sum: 12 });
  expect(built).toMatchObject({
    request: { headers: { 'content-type': 'application/json', accept: 'text/plain' } },
  });
  const text = built.kind === 'built' ? String(built.request.body) : '';
  expect(JSON.parse(text)).toEqual({ amount: 12, region: 'eu', fixed: ['a', null] });
  expect(build({}, 'anything at all')).toMatchObject({
    request: { body: Buffer.from('anything at all') },
  });
  expect(build({ body }, {})).toMatchObject({ kind: 'unfit' });
  expect(build({ method: 'GET' }, { n: 1 })).toMatchObject({
    request: { body: null, headers: {} },
  });
});

test.each<[string, RegExp]>([
  ['ftp://vendor.test/', /http or https/],
  ['vendor.test/a', /http or https/],
  ['https:///a', /no host/],
  ['https://user:pw@vendor.test/', /user name or password/],
  ['https://vendor.test/a#b', /fragment/],
  ['https://vendor.test/{id}', /write \{payload/],
  ['https://vendor.test/{payload/id', /write \{payload/],
  ['https://vendor.test/{env/HOME}', /write \{payload/],
  ['{payload/url}', /must not depend on the payload/],
  ['{config/base}evil.test/', /followed by/],
  ['https://vendor.test/a b', /blank/],
  ['https://vendor.test\\@evil.test/', /backslash/],
])('%s is no template of an address', (template, said) => {
  expect(urlParts(template)).toMatch(said);
});

test('what an answer means for something that is sent', () => {
  const rules = { statuses: null, resendable: false };
  const answered = (status: number) =>
    ({ kind: 'answered', status, retryAfter: null, bodyAccepted: null }) as const;
  const lost = { kind: 'lost', reason: 'timed_out' } as const;
  const refused = { kind: 'not_sent', reason: 'connection_refused' } as const;
  const of = (answer: Parameters<typeof judgeSending>[0], more: object = {}) =>
    judgeSending(answer, { ...rules, ...more });
  expect(of(answered(204))).toMatchObject({ outcome: 'acknowledged' });
  for (const status of [503, 429, 408, 425, 307, 308]) {
    expect(of(answered(status))).toMatchObject({ outcome: 'refused', mayRetry: true });
  }
  for (const status of [500, 501, 505, 507, 520, 599, 300, 302, 303, 304]) {
    expect(of(answered(status))).toMatchObject({ outcome: 'unknown', mayRetry: false });
    const again = of(answered(status), { resendable: true });
    expect(again).toMatchObject({ outcome: 'unknown', mayRetry: true });
  }
  expect(of(answered(204), { statuses: [200] })).toMatchObject({
    ...{ outcome: 'unknown', reason: 'status_refused', mayRetry: false },
  });
  expect(of(answered(422), { statuses: [200] })).toMatchObject({
    ...{ outcome: 'refused', mayRetry: false },
  });
  const checked = { ...answered(200), bodyAccepted: false };
  expect(of(checked)).toMatchObject({ outcome: 'refused', mayRetry: true });
  expect(of({ ...checked, bodyUnclear: true })).toMatchObject({
    ...{ outcome: 'unknown', reason: 'body_refused', mayRetry: false },
  });
  expect(of(answered(410))).toMatchObject({ mayRetry: false, pausesSubscription: false });
  expect(of(answered(502))).toMatchObject({ outcome: 'unknown', mayRetry: false });
  expect(of(answered(504), { resendable: true })).toMatchObject({
    outcome: 'unknown',
    mayRetry: true,
  });
  expect(of(lost)).toMatchObject({ outcome: 'unknown', mayRetry: false });
  expect(of(lost, { resendable: true })).toMatchObject({ outcome: 'unknown', mayRetry: true });
  expect(of(refused)).toMatchObject({ outcome: 'not_sent', mayRetry: true });
});
