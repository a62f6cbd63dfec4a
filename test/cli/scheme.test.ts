/**
 * `waybill scheme`: vectors, shipped schemes, and captured requests. Real: the processes. No server is
 * needed. Asserted: what they print and how they end.
 */
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { failureOf, newHome, removeHomes, waybill } from './waybill';

const VECTORS = path.join(__dirname, '..', '..', 'schemes', 'vectors.json');
const SECRET = 'planted-secret-text';

let home: string;
beforeAll(() => {
  home = newHome();
});
afterAll(removeHomes);

function file(name: string, content: string | object): string {
  const at = path.join(home, name);
  writeFileSync(at, typeof content === 'string' ? content : JSON.stringify(content));
  return at;
}

const run = (...args: readonly string[]) =>
  waybill(['scheme', ...args], {
    WAYBILL_HOME: home,
    WAYBILL_PUBLIC_URL: 'https://hooks.example.test',
    HOOK_SECRET: SECRET,
  });

/** A vendor of no shipped scheme, with one vector that is right and one that says too much. */
const own = {
  vendor: 'own',
  schemes: {
    default: {
      ...{ kind: 'hmac', hash: 'sha384', message: '{timestamp}|{body}' },
      signature: { location: 'query', name: 'sig', format: 'raw', encoding: 'base64url' },
      timestamp: { location: 'header', name: 'X-At', unit: 's', tolerance_s: 10 },
    },
    crc: {
      ...{ kind: 'hmac', hash: 'sha256', message: '{config:crc_token}' },
      signature: {
        location: 'response',
        name: 'token',
        format: 'prefix',
        prefix: 'sha256=',
        encoding: 'base64',
      },
    },
    wrong: {
      ...{ kind: 'hmac', hash: 'sha256', message: '{body}{colour}' },
      signature: { location: 'header', name: 'X', format: 'raw', encoding: 'hex' },
    },
  },
};
const mac = (hash: string, text: string) => createHmac(hash, SECRET).update(text);
const vector = {
  ...{ name: 'good', valid: true, secret: SECRET, headers: { 'x-at': '1000' }, verify_at: 1010 },
  ...{ body_base64: Buffer.from([0xff, 0]).toString('base64') },
  url: `https://h.test/?sig=${createHmac('sha384', SECRET)
    .update('1000|')
    .update(Buffer.from([0xff, 0]))
    .digest('base64url')}`,
};
const crc = {
  ...{ name: 'crc', scheme: 'crc', valid: true, secret: SECRET, config: { crc_token: 'abc' } },
  expected_response: { token: `sha256=${mac('sha256', 'abc').digest('base64')}` },
};

test('the vectors of 26 vendors pass, as a table and counted', async () => {
  const table = await run('test', VECTORS);
  expect(table).toMatchObject({ code: 0, stderr: '' });
  expect(table.stdout).toMatch(/^VENDOR +VECTOR +EXPECTED +ACTUAL +REASON/);
  expect(table.stdout).toMatch(/\n128 passed, 0 failed\n$/);
  const json = await run('test', VECTORS, '--json');
  const counted = JSON.parse(json.stdout) as { passed: number; cases: readonly object[] };
  expect(counted).toMatchObject({ passed: 128, failed: 0 });
  expect(counted.cases).toContainEqual({
    ...{ vendor: 'github', name: 'documented example' },
    ...{ expected: 'accepted', actual: 'accepted', reason: null },
  });
});

test("a file's own schemes count, several files are one run, and a mismatch ends with 1", async () => {
  const good = file('good.json', {
    vendors: [
      {
        ...own,
        vectors: [vector, { ...vector, name: 'late', verify_at: 1011, valid: false }, crc],
      },
    ],
  });
  const bad = file('bad.json', {
    ...own,
    vectors: [
      { ...vector, name: 'never', valid: false },
      { ...vector, name: 'wrong scheme', scheme: 'wrong' },
      { ...vector, name: 'empty secret', secret: '' },
      { ...vector, name: 'unknown', scheme: 'unknown', valid: false },
      { ...crc, name: 'other answer', expected_response: 'sha256=AA==' },
      { ...vector, name: 'wider', verify_at: 1100, tolerance_override_s: 100 },
    ],
  });
  const alone = await run('test', good);
  expect(alone).toMatchObject({ code: 0, stderr: '' });
  const both = await run('test', good, bad, '--json');
  expect(both.code).toBe(1);
  const { passed, failed, cases } = JSON.parse(both.stdout) as {
    passed: number;
    failed: number;
    cases: readonly { name: string; actual: string; reason: string | null }[];
  };
  expect([passed, failed]).toEqual([4, 5]);
  const ended = cases.slice(3).map(({ name, actual, reason }) => `${name}: ${actual}, ${reason}`);
  expect(ended).toEqual([
    'never: accepted, null',
    'wrong scheme: refused, invalid_scheme: message: unknown token {colour}',
    'empty secret: refused, unusable_secret: the secret is empty',
    'unknown: unjudged, there is no scheme unknown',
    'other answer: refused, response_mismatch',
    'wider: accepted, null',
  ]);
  expect(both.stdout).not.toContain(SECRET);
});

test.each([
  ['no file', 'absent.json', null],
  ['no JSON', 'text.json', 'no json'],
  ['no vectors', 'none.json', '{"vendors": [{"vendor": "a"}]}'],
])('%s is told in one line', async (_what, name, content) => {
  const at = content === null ? path.join(home, name) : file(name, content);
  expect(failureOf(await run('test', at))).toMatchObject({ code: 'scheme_unreadable' });
});

test('every scheme can be listed, shown, and read again', async () => {
  const listed = await run('list', '--json');
  const schemes = JSON.parse(listed.stdout) as readonly { name: string; docs: string | null }[];
  expect(schemes.length).toBeGreaterThanOrEqual(26);
  expect(schemes.filter(({ docs }) => docs === null)).toEqual([]);
  expect((await run('list')).stdout).toContain('messagebird');
  const shown = await run('show', 'zoom');
  const again = await run('show', file('zoom.yaml', shown.stdout));
  expect(again).toEqual(shown);
  const unknown = failureOf(await run('show', 'zom'));
  expect(unknown).toMatchObject({ code: 'scheme_unreadable' });
  expect(unknown.message).toContain('known: adyen-banking');
  const wrong = failureOf(await run('show', file('w.yaml', 'kind: hmac\ncolour: red\n')));
  expect(wrong.message).toMatch(/hash: .*colour: /);
});

describe('a captured request', () => {
  const body = '{"zen":"Design for failure."}';
  const captured = (signed: string) =>
    `POST /webhooks/i1 HTTP/1.1\r\nHost: elsewhere\r\nX-GitHub-Event: ping\r\nX-GitHub-Delivery: d-1\r\n` +
    `X-Hub-Signature-256: sha256=${mac('sha256', signed).digest('hex')}\r\n\r\n${body}`;
  const attempt = (request: string, ...more: readonly string[]) =>
    run(
      ...['try', '--scheme', 'github', '--secret-ref', 'env:HOOK_SECRET', '--request', request],
      ...more,
    );

  test('that passes is explained step by step', async () => {
    const { code, stdout, stderr } = await attempt(file('good.txt', captured(body)));
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('POST https://hooks.example.test/webhooks/i1, 29 bytes of body');
    expect(stdout).toContain('env:HOOK_SECRET matches');
    expect(stdout).toContain('d-1 (header)');
    expect(stdout).toMatch(/\naccepted\n$/);
    expect(stdout).not.toContain(SECRET);
  });

  test('that fails is explained with a hint, and never with the secret', async () => {
    const request = file('edited.txt', `${captured(body)}\n`);
    const { code, stdout } = await attempt(request);
    expect(code).toBe(1);
    expect(stdout).toContain('signature_mismatch');
    expect(stdout).toContain('hint: it would match without the line end at the end of the body');
    const json = await attempt(request, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      outcome: 'refused',
      reason: 'signature_mismatch',
    });
    expect(stdout + json.stdout).not.toContain(SECRET);
  });

  test('is judged as of the receipt that is given', async () => {
    const at = 1_700_000_000;
    const signed = `t=${at},v1=${mac('sha256', `${at}.${body}`).digest('hex')}`;
    const request = file('stripe.json', {
      ...{ headers: { 'Stripe-Signature': signed }, body, url: 'https://h.test/' },
    });
    const stripe = (instant: string) =>
      run(
        ...['try', '--scheme', 'stripe', '--secret-ref', 'env:HOOK_SECRET', '--request', request],
        ...['--at', instant, '--json'],
      );
    const [fresh, stale] = await Promise.all([
      stripe('2023-11-14T22:18:20Z'),
      stripe('2023-11-14T22:18:21Z'),
    ]);
    expect(JSON.parse(fresh.stdout)).toMatchObject({ outcome: 'accepted' });
    expect(JSON.parse(stale.stdout)).toMatchObject({
      outcome: 'refused',
      reason: 'signature_stale',
    });
  });

  test('shows no token that stands in the query', async () => {
    const scheme = file('token.yaml', {
      ...{ kind: 'shared-token', signature: { location: 'query', name: 'key', format: 'raw' } },
    });
    const request = file(
      'token.txt',
      `POST /webhooks/i1?a=1&key=${SECRET}&k%65y=${SECRET} HTTP/1.1\r\nHost: h\r\n\r\n${body}`,
    );
    const { code, stdout } = await run(
      ...['try', '--scheme', scheme, '--secret-ref', 'env:HOOK_SECRET', '--request', request],
    );
    expect({ code, quoted: stdout.includes(SECRET) }).toEqual({ code: 0, quoted: false });
    expect(stdout).toContain('/webhooks/i1?a=1&key=…&k%65y=…,');
  });

  test.each([
    ['a length that is none', 'Content-Length: -3'],
    ['more announced than captured', 'Content-Length: 500'],
  ])('with %s cannot be judged', async (_what, line) => {
    const ended = await attempt(file('cut.txt', `POST /x HTTP/1.1\r\n${line}\r\n\r\nabc`));
    expect(failureOf(ended)).toMatchObject({ code: 'scheme_unreadable' });
  });

  test('and a file of vectors give a terminal nothing to obey', async () => {
    const hostile = 'a\u001b]0;owned\u0007\u009bb';
    const tried = await attempt(file('esc.txt', `POST /${hostile} HTTP/1.1\r\nX: y\r\n\r\n`));
    const vectors = file('esc.json', { vendor: hostile, vectors: [{ ...vector, name: hostile }] });
    const tested = await run('test', vectors);
    const broken = await run('test', file('broken.json', `{"a": ${hostile}`));
    for (const { stdout, stderr } of [tried, tested, broken]) {
      expect(`${stdout}${stderr}`).not.toMatch(/[^\P{Cc}\n]/u);
    }
    expect(tested.stdout).toContain('a\\u001b]0;owned\\u0007\\u009bb');
  });

  test('needs a secret that can be read', async () => {
    const request = file('any.txt', captured(body));
    const lacking = await run(
      ...['try', '--scheme', 'github', '--secret-ref', 'env:NONE', '--request', request],
    );
    expect(failureOf(lacking)).toMatchObject({ code: 'scheme_unreadable' });
  });
});
