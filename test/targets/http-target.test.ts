/** Calling an HTTP target over real sockets on loopback. */
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { TargetCall, TargetReport } from '../../src/targets/http-target';
import { httpTargets } from '../../src/targets/http-target';
import { keptBySignal } from '../support/kept-by-signal';

const targets = httpTargets({
  policy: () => Promise.resolve({ http: true, ports: [80], allow: ['127.0.0.0/8'] }),
});
const servers: Server[] = [];

afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  await targets.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/hook`;
}

function call(url: string, more: Partial<TargetCall> = {}): Promise<TargetReport> {
  return targets.call({
    url,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from('{}'),
    // For machines that are busy; who waits for the end of it says how long.
    timeoutMs: 10_000,
    success: null,
    signal: new AbortController().signal,
    ...more,
  });
}

test('status, Retry-After and the first bytes of the answer are reported', async () => {
  const url = await serve((_request, response) => {
    response.writeHead(503, { 'retry-after': '7' }).end('busy\0');
  });
  const report = await call(url);
  expect(report.answer).toEqual({
    kind: 'answered',
    status: 503,
    retryAfter: '7',
    bodyAccepted: null,
  });
  expect(report.answerHead).toBe('busy\uFFFD');
  expect(report.answerSha256).toMatch(/^[0-9a-f]{64}$/);
});

test('a call leaves nothing with a signal that outlives it, answered or not', async () => {
  const url = await serve((request, response) => {
    if (request.method === 'POST') response.end();
    else response.destroy();
  });
  const { signal } = new AbortController();
  for (const method of ['POST', 'PUT'] as const) await call(url, { method, signal });
  expect(keptBySignal(signal)).toBe(0);
});

test('two Retry-After lines contradict each other, and none counts', async () => {
  const url = await serve((_request, response) => {
    response.setHeader('retry-after', ['120', '60']).writeHead(429).end();
  });
  expect((await fetch(url)).headers.get('retry-after')).toBe('120, 60');
  expect((await call(url)).answer).toMatchObject({ status: 429, retryAfter: null });
});

test('a redirect is not followed: the second host gets nothing', async () => {
  let reached = 0;
  const second = await serve((_request, response) => {
    reached += 1;
    response.end();
  });
  const url = await serve((_request, response) => {
    response.writeHead(307, { location: second }).end();
  });
  expect((await call(url)).answer).toMatchObject({ kind: 'answered', status: 307 });
  expect(reached).toBe(0);
});

test('headers at once and a body that stalls end at the deadline as lost', async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200).write('x');
  });
  const started = performance.now();
  const { answer } = await call(url, { timeoutMs: 400 });
  expect(answer).toEqual({ kind: 'lost', reason: 'timed_out' });
  expect(performance.now() - started).toBeLessThan(2_000);
});

test('an endless answer is read up to a cap', async () => {
  const url = await serve((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384, 'a')));
      if (!response.destroyed) response.once('drain', more);
    };
    response.writeHead(200);
    more();
  });
  const report = await call(url, { timeoutMs: 5_000 });
  expect(report.answer).toMatchObject({ kind: 'answered', status: 200 });
  expect(report.answerHead).toHaveLength(1_024);
});

test('a fresh call has a connection of its own, which nobody else takes', async () => {
  const url = await serve((_request, response) => {
    response.end('ok');
  });
  let opened = 0;
  servers.at(-1)?.on('connection', () => (opened += 1));
  const openedAfter = async (more: Partial<TargetCall>): Promise<number> => {
    expect((await call(url, more)).answer).toMatchObject({ status: 200 });
    // Only then is its connection free for another.
    await new Promise(setImmediate);
    return opened;
  };
  expect(await openedAfter({})).toBe(1);
  expect(await openedAfter({})).toBe(1);
  // The one that is kept is not taken.
  expect(await openedAfter({ fresh: true })).toBe(2);
  expect(await openedAfter({})).toBe(2);
  expect(await openedAfter({ fresh: true })).toBe(3);
});

test('a closed port proves that nothing was sent', async () => {
  const url = await serve(() => undefined);
  const server = servers.pop();
  await new Promise((resolve) => server?.close(resolve));
  expect((await call(url)).answer).toEqual({ kind: 'not_sent', reason: 'connection_refused' });
});

test('a connection that breaks after the request is a lost answer', async () => {
  const url = await serve((request) => {
    request.socket.destroy();
  });
  expect((await call(url)).answer).toEqual({ kind: 'lost', reason: 'answer_lost' });
});

test('what only announces an answer is none, and a change of protocol is a lost one', async () => {
  const url = await serve((_request, response) => {
    response.writeEarlyHints({ link: '</a>; rel=preload' }, () =>
      response.writeHead(202).end('ok'),
    );
  });
  expect(await call(url)).toMatchObject({ answer: { status: 202 }, answerHead: 'ok' });
  const other = await serve((request) => {
    request.socket.end(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    );
  });
  expect((await call(other)).answer).toEqual({ kind: 'lost', reason: 'answer_lost' });
});

test('a call that ends before it begins sends nothing', async () => {
  let reached = 0;
  const url = await serve((_request, response) => {
    reached += 1;
    response.end();
  });
  const report = await call(url, { signal: AbortSignal.abort() });
  expect([report.answer.kind, reached]).toEqual(['lost', 0]);
});

test('an aborted call is a lost answer at once', async () => {
  const url = await serve(() => undefined);
  const abort = new AbortController();
  const pending = call(url, { signal: abort.signal, timeoutMs: 60_000 });
  abort.abort();
  expect((await pending).answer).toEqual({ kind: 'lost', reason: 'answer_lost' });
});

test.each([
  ['{"ok":true}', true],
  ['{"ok":"true"}', false],
  ['{"nested":{"ok":true}}', false],
  ['not json', false],
  ['', false],
])('the declared body check reads %j as %j', async (body, accepted) => {
  const url = await serve((_request, response) => {
    response.end(body);
  });
  const report = await call(url, { success: { pointer: '/ok', equals: true } });
  expect(report.answer).toMatchObject({ bodyAccepted: accepted });
});

test.each([
  ['nested without end', '['.repeat(60_000)],
  ['nested as deep as fits', `${'['.repeat(30_000)}${']'.repeat(30_000)}`],
  ['longer than what is read', `{"pad":"${'a'.repeat(70_000)}","ok":true}`],
  ['the success only as an inherited name', '{"__proto__":{"ok":true}}'],
  ['bytes that are no UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
  ['a bomb of gzip', gzipSync(Buffer.alloc(50_000_000))],
  ['success in gzip, which nobody asked for', gzipSync('{"ok":true}')],
])('the declared body check is not passed by a body that is %s', async (_what, body) => {
  const url = await serve((_request, response) => {
    response.setHeader('content-encoding', Buffer.isBuffer(body) ? 'gzip' : 'identity').end(body);
  });
  const report = await call(url, { success: { pointer: '/ok', equals: true }, timeoutMs: 5_000 });
  expect(report.answer).toMatchObject({ kind: 'answered', status: 200, bodyAccepted: false });
});

test('calls that hang take no connection from others to the same origin', async () => {
  const url = await serve((request, response) => {
    if (request.url === '/hook') return;
    response.end();
  });
  const hanging = Array.from({ length: 150 }, () => call(url, { timeoutMs: 3_000 }));
  expect((await call(new URL('/other', url).href)).answer).toMatchObject({ status: 200 });
  servers.at(-1)?.closeAllConnections();
  await Promise.all(hanging);
});

test('an answer whose headers are longer than any is a lost answer', async () => {
  const url = await serve((_request, response) => {
    response.writeHead(200, { 'x-long': 'a'.repeat(100_000) }).end();
  });
  expect((await call(url)).answer).toEqual({ kind: 'lost', reason: 'answer_lost' });
});

test('a name that does not resolve proves that nothing was sent', async () => {
  const report = await call('http://does-not-exist.invalid/');
  expect(report.answer).toEqual({ kind: 'not_sent', reason: 'connection_failed' });
});
