/** What bounds a call of the API: how often, how large, how deep. Real: server, socket, Postgres. */
import { request as rawRequest } from 'node:http';
import { callLimits } from '../../src/http/rate-limits';
import { Harness, problem } from './harness';

const PLAN = ['factory.replays.operate'];

let h: Harness;
beforeAll(async () => {
  h = await Harness.start();
});
afterAll(() => h.stop());

describe('calls in a minute', () => {
  const get = (base: string, subject: string, tenant = 'acme') =>
    h.token({ tenant, subject }).then((token) => h.call('/factory/deliveries', { base, token }));

  test('are bounded for each subject, and for all of a tenant together', async () => {
    const other = await h.alsoServe({ callLimits: callLimits({ perSubject: 2, perTenant: 3 }) });
    const { base } = other;
    const first = await get(base, 'ada');
    expect(first.status).toBe(200);
    expect(first.headers.get('ratelimit-policy')).toBe('"subject";q=2;w=60, "tenant";q=3;w=60');
    expect(first.headers.get('ratelimit')).toMatch(/^"subject";r=1;t=\d+, "tenant";r=2;t=\d+$/);
    await get(base, 'ada');
    const third = await get(base, 'ada');
    expect(problem(third)).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(third.headers.get('ratelimit')).toMatch(/^"subject";r=0;t=\d+$/);
    const wait = Number(third.headers.get('retry-after'));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(60);
    expect((await get(base, 'bob')).status).toBe(200);
    expect(problem(await get(base, 'eve')).detail).toContain('tenant may make 3 calls');
    expect((await get(base, 'ada', 'globex')).status).toBe(200);
    expect((await h.call('/factory/deliveries', { base, token: null })).status).toBe(401);
    const token = await h.token({ subject: 'max', tenant: 'other', scopes: [] });
    const unscoped = () => h.call('/factory/deliveries', { base, token });
    for (const left of [1, 0]) {
      const refused = await unscoped();
      expect(problem(refused)).toMatchObject({ code: 'scope_missing' });
      expect(refused.headers.get('ratelimit')).toContain(`"subject";r=${left}`);
    }
    expect(problem(await unscoped())).toMatchObject({ code: 'rate_limited' });
    await other.close();
  });

  test('are many unless they are set', async () => {
    const { headers } = await h.call('/factory/deliveries');
    expect(headers.get('ratelimit-policy')).toBe('"subject";q=60000;w=60, "tenant";q=120000;w=60');
  });
});

test('a body that is nested deep is refused, however deep it is', async () => {
  for (const depth of [120, 30_000]) {
    const nested = `{"reason":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const response = await fetch(`${h.url}/v1/replays`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${await h.token({ scopes: PLAN })}`,
      },
      body: nested,
    });
    const body = (await response.json()) as Record<string, unknown>;
    const answer = { status: response.status, headers: response.headers, body };
    expect(problem(answer)).toMatchObject({ status: 400, code: 'invalid_request', field: 'body' });
  }
});

test('a body that is too large is refused', async () => {
  const json = { reason: 'x'.repeat(70_000) };
  const answer = await h.call('/v1/replays', { scopes: PLAN, json });
  expect(problem(answer)).toMatchObject({ status: 413, code: 'body_too_large' });
});

test('headers that are too large are refused', async () => {
  const [status, text] = await new Promise<[number, string]>((done, fail) => {
    const asked = rawRequest(`${h.url}/health`, { headers: { 'x-long': 'x'.repeat(20_000) } });
    asked.on('response', (answer) => {
      let body = '';
      answer.on('data', (piece: Buffer) => (body += piece.toString()));
      answer.on('end', () => {
        done([answer.statusCode ?? 0, body]);
      });
    });
    asked.on('error', fail);
    asked.end();
  });
  expect(status).toBe(400);
  expect(text).toContain('The head of a request has at most 16 KiB.');
});

test('a page has at most 200 rows', async () => {
  expect(problem(await h.call('/factory/deliveries?limit=201'))).toMatchObject({
    ...{ status: 400, field: 'limit' },
  });
});

test('a number that would be taken for another one is refused, and named', async () => {
  const post = async (reason: string) => {
    const response = await fetch(`${h.url}/v1/replays`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        authorization: `Bearer ${await h.token({ scopes: PLAN })}`,
      },
      body: `{"reason":${reason}}`,
    });
    const body = (await response.json()) as Record<string, unknown>;
    return { status: response.status, headers: response.headers, body };
  };
  const found = problem(await post('2868860079149422351'));
  expect(found).toMatchObject({ status: 400, code: 'invalid_request', field: 'body' });
  expect(found.detail).toContain('2868860079149422351');
  expect(problem(await post('9007199254740992')).field).toBe('reason');
});
