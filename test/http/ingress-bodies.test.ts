/**
 * Bodies are bytes: whatever they hold or say to be, they are verified and stored unchanged, up to
 * the limit. Real: socket, server, Postgres.
 */
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { until } from '../support/until';
import { githubHeaders, Harness, problem } from './harness';
import { speak } from './raw-http';

const hex = (text: string) => Buffer.from(text, 'hex');
const BODIES: [string, Buffer, Record<string, string>][] = [
  [
    'odd spacing, odd numbers, escapes and a trailing newline',
    hex('7b202262223a312e302c202261223a226361665c75303065395c2f78222c20226e223a316532207d0a'),
    { 'content-type': 'application/json' },
  ],
  ['emoji and line separators', hex('7b226d223a22c3a920f09f988020e280a8227d'), {}],
  ['bytes that are not UTF-8', hex('7b226d223a22e9227d'), {}],
  [
    'bytes that are not UTF-8, with a charset that says so',
    hex('7b226d223a22e9227d'),
    { 'content-type': 'application/json; charset=iso-8859-1' },
  ],
  ['a byte order mark', hex('efbbbf7b2261223a317d'), { 'content-type': 'application/json' }],
  [
    'a form with a byte order mark',
    hex('efbbbf613d31'),
    { 'content-type': 'application/x-www-form-urlencoded' },
  ],
  ['a carriage return at the end', Buffer.from('{"a":1}\r\n'), {}],
  ['nothing', Buffer.alloc(0), { 'content-type': 'application/json' }],
  ['zero bytes', Buffer.alloc(1000), { 'content-type': 'application/octet-stream' }],
  ['text that is no JSON', Buffer.from('{"a":'), { 'content-type': 'application/json' }],
  ['a poisoned prototype', Buffer.from('{"__proto__":{"a":1}}'), {}],
  ['an escaped NUL and half a surrogate pair', Buffer.from('{"a":"\\u0000\\ud800"}'), {}],
  ['gzip', gzipSync('{"a":1}'), { 'content-encoding': 'gzip' }],
  ['broken gzip', gzipSync('{"a":1}').subarray(0, 15), { 'content-encoding': 'GZIP' }],
  ['an unreadable content type', Buffer.from('{}'), { 'content-type': 'application//json;;x' }],
  ['an empty content type', Buffer.from('{}'), { 'content-type': '' }],
  ['multipart', Buffer.from('--b--'), { 'content-type': 'multipart/form-data; boundary=b' }],
  ['450 kB', Buffer.from(`{"a":"${'x'.repeat(450_000)}"}`), {}],
];

describe('a body', () => {
  let h: Harness;
  let hook: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db, { bodyLimitBytes: 500_000 });
  });
  afterAll(() => h.stop());

  it.each(BODIES)('of %s is verified and stored byte for byte', async (_what, body, headers) => {
    const answer = await h.post(hook.ingressRef, body, { headers });
    expect(answer).toMatchObject({ status: 202, body: { outcome: 'accepted' } });
    const row = (await h.stored()).find((r) => r.delivery_id === answer.body['deliveryId']);
    expect(row?.payload?.equals(body)).toBe(true);
  });

  it('keeps an id or event type that a column cannot hold from breaking anything', async () => {
    const billing = await insertCatalog(h.db, { subscription: 'billing' });
    await h.db.rows(
      `update waybill.connector_versions set webhook_scheme = webhook_scheme
        || '{"delivery_id": {"location": "body", "name": "id"},
             "event_type": {"location": "body", "name": "type"}}'`,
    );
    const body = '{"id":"evt_\\u0000","type":"a\\u0000b","n":12345678901234567890123}';
    const answer = await h.post(billing.ingressRef, body);
    const row = (await h.stored()).find((r) => r.delivery_id === answer.body['deliveryId']);
    expect(row).toMatchObject({ state: 'Received', event_type: 'unknown' });
    expect(row?.external_id).toMatch(/^sha256:/);
    expect(row?.payload?.toString()).toBe(body);
    const again = await h.post(billing.ingressRef, body);
    expect(again.body['outcome']).toBe('duplicate');
  });

  it('with no content type and no length is read to its last chunk', async () => {
    const body = Buffer.from('{"chunked":true}');
    const heard = await speak(
      h.port,
      [head(hook, body, 'transfer-encoding: chunked'), '8\r\n', body.subarray(0, 8), '\r\n'].concat(
        ['8\r\n', body.subarray(8).toString(), '\r\n0\r\n\r\n'],
      ),
      (said) => said.includes('"outcome"'),
    );
    expect(heard).toContain('202 Accepted');
  });
});

describe('a body that is not taken', () => {
  const LIMIT = 1_000;
  let h: Harness;
  let hook: CatalogFixture;
  beforeAll(async () => {
    h = await Harness.start();
    hook = await insertCatalog(h.db, { bodyLimitBytes: LIMIT });
  });
  afterAll(() => h.stop());
  afterEach(async () => {
    expect(await h.stored()).toEqual([]);
    expect(await h.dedupKeys()).toBe(0);
  });

  it('is refused as too large by its announced length, before its first byte', async () => {
    const body = Buffer.alloc(LIMIT + 1);
    const heard = await speak(
      h.port,
      [head(hook, body, `content-length: ${body.length}`)],
      (said) => said.includes('requestId'),
    );
    expect(heard).toContain('413 Payload Too Large');
    expect(heard).toContain('"code":"body_too_large"');
  });

  it('is refused as too large by its chunks, before its end', async () => {
    const body = Buffer.alloc(LIMIT + 1);
    const heard = await speak(
      h.port,
      [
        head(hook, body, 'transfer-encoding: chunked'),
        `${body.length.toString(16)}\r\n`,
        body,
        '\r\n',
      ],
      (said) => said.includes('requestId'),
    );
    expect(heard).toContain('413 Payload Too Large');
  });

  it('is answered also to a sender that reads only after it has sent all', async () => {
    const answer = await h.post(hook.ingressRef, Buffer.alloc(6 * 1024 * 1024));
    expect(problem(answer)).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it('does not flow in for ever after the answer', async () => {
    const socket = connect(h.port, '127.0.0.1');
    socket.on('error', () => undefined);
    let bytes = 0;
    const piece = Buffer.alloc(65_536);
    await new Promise<void>((done) => {
      socket.on('close', () => {
        done();
      });
      socket.write(head(hook, piece, 'content-length: 25000000'));
      // A write that failed is told before its socket is destroyed.
      function more(failure?: Error | null): void {
        if (failure || socket.destroyed) return;
        bytes += piece.length;
        socket.write(piece, more);
      }
      more();
    });
    expect(bytes).toBeLessThan(25_000_000);
  });

  it('that stays shorter than announced ends at a short time-out', async () => {
    const body = Buffer.alloc(100);
    const heard = await speak(h.port, [head(hook, body, 'content-length: 105'), body], (said) =>
      said.includes('requestId'),
    );
    expect(heard).toContain('400 Bad Request');
    expect(heard).toContain('"code":"body_incomplete"');
  });

  it.each([
    ['its announced length', 'content-length: 105', [Buffer.alloc(100)]],
    ['its final chunk', 'transfer-encoding: chunked', ['4\r\n', 'abcd', '\r\n']],
  ])('that is cut before %s leaves nothing behind', async (_what, framing, pieces) => {
    const before = await h.connections();
    const socket = connect(h.port, '127.0.0.1');
    for (const piece of [head(hook, Buffer.alloc(100), framing), ...pieces]) socket.write(piece);
    await until('the connection', async () => ((await h.connections()) > before ? true : null));
    socket.destroy();
    await until('its end', async () => ((await h.connections()) <= before ? true : null));
  });

  it.each([
    ['its head', 'POST /webhooks/'],
    ['its body', null],
  ])('that takes too long for %s is cut off', async (_what, said) => {
    const app = await h.alsoServe({ patience: { bodyIdleMs: 60_000, requestMs: 200 } });
    try {
      const heard = await speak(
        app.port,
        [said ?? head(hook, Buffer.alloc(100), 'content-length: 100')],
        () => false,
      );
      expect(heard).toMatch(/^HTTP\/1.1 400 .*"code":"body_incomplete"/s);
    } finally {
      await app.close();
    }
  });

  it.each([
    ['a NUL in a header', `x-github-event: a\0b`],
    ['two lengths', `content-length: 3\r\ncontent-length: 4`],
    ['a length and chunks', `content-length: 3\r\ntransfer-encoding: chunked`],
    ['a negative length', `content-length: -1`],
  ])('comes with %s and is no HTTP', async (_what, header) => {
    const heard = await speak(
      h.port,
      [`POST /webhooks/${hook.ingressRef} HTTP/1.1\r\nhost: a\r\n${header}\r\n\r\n`, 'abc'],
      (said) => said.includes('requestId'),
    );
    expect(heard).toMatch(/^HTTP\/1.1 400 /);
    expect(heard).toContain('"code":"invalid_request"');
  });
});

function head(hook: CatalogFixture, body: Uint8Array, framing: string): string {
  const headers = Object.entries(githubHeaders(body, { id: randomUUID() }));
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `POST /webhooks/${hook.ingressRef} HTTP/1.1\r\nhost: localhost\r\n${lines}${framing}\r\n\r\n`;
}

describe('bodies under way at once', () => {
  it('are bounded over all senders, and what was taken is given back', async () => {
    // The sender that holds its body back must not be given up before anybody has looked.
    const patience = { bodyIdleMs: 60_000, requestMs: 60_000 };
    const own = await Harness.start({ bodyBudgetBytes: 10_000, patience });
    try {
      const hook = await insertCatalog(own.db);
      const hold = () => {
        const socket = connect(own.port, '127.0.0.1');
        const holding = { socket, refused: false };
        socket.on('data', () => (holding.refused = true));
        socket.write(
          `POST /webhooks/${hook.ingressRef} HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n`,
        );
        socket.write('x'.repeat(8_000));
        return holding;
      };
      let held = hold();
      await until('the budget is nearly used up', async () => {
        const answer = await own.post(hook.ingressRef, 'y'.repeat(5_000));
        if (answer.status === 503) return answer;
        // The probe was there first, and the other one found no room.
        if (held.refused) held = hold();
        return null;
      });
      expect(problem(await own.post(hook.ingressRef, 'y'.repeat(5_000)))).toMatchObject({
        code: 'overloaded',
      });
      expect((await own.post(hook.ingressRef, '{"small":1}')).status).toBe(202);
      held.socket.destroy();
      await until('it is free again', async () =>
        (await own.post(hook.ingressRef, 'y'.repeat(5_000))).status === 202 ? true : null,
      );
    } finally {
      await own.stop();
    }
  });
});
