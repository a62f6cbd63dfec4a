/**
 * What the client makes of hosts that misbehave, over real sockets. The hosts are doubled by servers
 * that answer as the test says; signatures are real.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { HostAnswerClaims } from '../../src/domain/host-protocol';
import { provesNotStarted } from '../../src/hosts/client/results';
import { MAX_NESTING } from '../../src/schemas/nesting';
import { didOfKey } from '../../src/signing/did-key';
import { sha256Hex, signJson } from '../../src/hosts/protocol/jws';
import { openRouteToken } from '../../src/hosts/protocol/route-tokens';
import { callTo, json, newKey, trustIn, type Peer } from './support/fixtures';
import { bothSides } from './support/host-at-work';

const sides = bothSides();
const servers: Server[] = [];
const BODY = json({});

afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<Peer> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return peerAt(`http://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
}

function peerAt(url: string): Peer {
  return { url, did: didOfKey(sides.keys.host.publicJwk.x), manifestDigest: 'a'.repeat(64) };
}

/** A good answer to this request, for a test to spoil. */
async function answerTo(request: IncomingMessage): Promise<HostAnswerClaims> {
  const token = (request.headers.authorization ?? '').replace('Bearer ', '');
  const claims = await openRouteToken(token, trustIn(sides.keys.waybill));
  const body = await buffer(request);
  return {
    iss: didOfKey(sides.keys.host.publicJwk.x),
    iat: 1,
    in_reply_to: claims?.jti ?? null,
    tenant: claims?.tenant ?? null,
    action: claims?.action ?? null,
    fence: claims?.fence ?? null,
    token_sha256: sha256Hex(token),
    body_sha256: sha256Hex(body),
    store_epoch: 'epoch',
    outcome: { kind: 'succeeded', result: { ticketId: 'T-1' } },
  };
}

function nested(levels: number): unknown {
  return levels === 0 ? 1 : JSON.parse('['.repeat(levels) + ']'.repeat(levels));
}

type Spoil = (good: HostAnswerClaims) => object;

function answering(
  spoil: Spoil,
  { status = 200, key = sides.keys.host, typ = 'waybill-host-answer' as const } = {},
): RequestListener {
  return (request, response) => {
    void (async () => {
      const jws = await signJson(spoil(await answerTo(request)), typ, key);
      response.writeHead(status).end(jws);
    })();
  };
}

test('a good answer is believed, whatever its status', async () => {
  const host = await serve(answering((good) => good, { status: 500 }));
  expect(await sides.client.execute(callTo(host), BODY)).toEqual({
    kind: 'answered',
    outcome: { kind: 'succeeded', result: { ticketId: 'T-1' } },
    storeEpoch: 'epoch',
  });
});

test('an answer signed by another key is lost, by the host', async () => {
  const host = await serve(answering((good) => good, { key: await newKey() }));
  const result = await sides.client.execute(callTo(host), BODY);
  expect(result).toMatchObject({ kind: 'lost', cause: 'host', reason: 'wrong_signature' });
  expect(provesNotStarted(result)).toBe(false);
});

test.each<{ what: string; other: Partial<HostAnswerClaims> }>([
  { what: 'token', other: { in_reply_to: 'another' } },
  { what: 'tenant', other: { tenant: 'umbrella' } },
  { what: 'action', other: { action: 'another' } },
  { what: 'fence', other: { fence: 9 } },
  { what: "token's bytes", other: { token_sha256: 'b'.repeat(64) } },
  { what: 'body', other: { body_sha256: 'b'.repeat(64) } },
  { what: 'host', other: { iss: 'did:key:z6MkiTBz1ymuepAQ4HEHYSF1H8quG5GLVVQR3djdX3mDooWp' } },
])('a signed answer about another $what is lost', async ({ other }) => {
  const host = await serve(answering((good) => ({ ...good, ...other })));
  const result = await sides.client.execute(callTo(host), BODY);
  expect(result).toMatchObject({ kind: 'lost', cause: 'host', reason: 'wrong_reference' });
});

test('an answer that names no token counts only as a refusal of an unreadable one', async () => {
  const unnamed = { in_reply_to: null, tenant: null, action: null, fence: null };
  const host = await serve(answering((good) => ({ ...good, ...unnamed })));
  expect(await sides.client.execute(callTo(host), BODY)).toMatchObject({
    reason: 'wrong_reference',
  });
  const refusal = { kind: 'refused', refusal: 'token_invalid', started: false };
  const outcome = { ...refusal, highest_fence: null };
  const other = await serve(answering((good) => ({ ...good, ...unnamed, outcome })));
  const result = await sides.client.execute(callTo(other), BODY);
  expect(result).toMatchObject(refusal);
  expect(provesNotStarted(result)).toBe(true);
});

test.each([
  ['of no known kind', { kind: 'perhaps' }],
  ['without its result', { kind: 'succeeded' }],
  ['nested beyond reading', { kind: 'succeeded', result: nested(3_000) }],
])('a signed answer with an outcome %s is lost', async (_what, outcome) => {
  const host = await serve(answering((good) => ({ ...good, outcome })));
  expect(await sides.client.execute(callTo(host), BODY)).toMatchObject({
    kind: 'lost',
    reason: 'answer_invalid',
  });
});

test('a result is nested as deep as a request may be, and no deeper', async () => {
  const host = await serve(
    answering((good) => ({ ...good, outcome: { kind: 'succeeded', result: nested(MAX_NESTING) } })),
  );
  const answered = { kind: 'answered', outcome: { kind: 'succeeded' } };
  expect(await sides.client.execute(callTo(host), BODY)).toMatchObject(answered);
});

test('a manifest that is nested beyond reading is unreadable', async () => {
  const capability = {
    ...{ capabilityId: 'a', interfaceName: 'a', sideEffect: 'read', recovery: 'none' },
    ...{ requestSchema: nested(3_000), resultSchema: {}, timeoutMs: 1 },
  };
  const manifest = { protocol: 1, connectorId: 'a', version: '1', capabilities: [capability] };
  const { url } = await serve((_request, response) => {
    response.end(JSON.stringify(manifest));
  });
  const at = { endpoint: url, transportProfile: 'http-loopback' as const, timeoutMs: 5_000 };
  const read = await sides.client.manifest({ ...at, signal: new AbortController().signal });
  expect(read.kind).toBe('unreadable');
});

test('from another store only a fact is believed', async () => {
  const fact = await serve(answering((good) => good));
  const call = { storeEpoch: 'an earlier one' };
  expect(await sides.client.reconcile(callTo(fact, call))).toMatchObject({ kind: 'answered' });
  for (const kind of ['not_started', 'cancelled', 'unknown']) {
    const host = await serve(answering((good) => ({ ...good, outcome: { kind } })));
    const result = await sides.client.reconcile(callTo(host, call));
    expect(result).toMatchObject({ kind: 'lost', cause: 'host', reason: 'store_lost' });
  }
});

test('a redirect is not followed, and is no answer', async () => {
  let reached = 0;
  const second = await serve((_request, response) => {
    reached += 1;
    response.end();
  });
  const host = await serve((_request, response) => {
    response.writeHead(307, { location: second.url }).end();
  });
  expect(await sides.client.execute(callTo(host), BODY)).toMatchObject({
    kind: 'lost',
    reason: 'wrong_signature',
  });
  expect(reached).toBe(0);
});

test('an error page is no answer', async () => {
  const host = await serve((_request, response) => {
    response.writeHead(502).end('<html>');
  });
  expect(await sides.client.cancel(callTo(host))).toMatchObject({ kind: 'lost', cause: 'host' });
});

test('an endless answer is cut', async () => {
  const host = await serve((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 'a')));
    };
    response.on('drain', more);
    more();
  });
  expect(await sides.client.execute(callTo(host), BODY)).toMatchObject({
    kind: 'lost',
    cause: 'host',
    reason: 'answer_too_large',
  });
});

test('one deadline covers a host that is silent and one that stalls', async () => {
  const silent = await serve(() => undefined);
  const stalling = await serve((_request, response) => {
    response.writeHead(200).write('e');
  });
  for (const host of [silent, stalling]) {
    const started = performance.now();
    const result = await sides.client.execute(callTo(host, { timeoutMs: 300 }), BODY);
    expect(result).toMatchObject({ kind: 'lost', cause: 'host', reason: 'timed_out' });
    expect(performance.now() - started).toBeLessThan(2_000);
  }
});

test('a connection that breaks under way is lost, by the host', async () => {
  const host = await serve((request) => request.socket.destroy());
  const result = await sides.client.execute(callTo(host), BODY);
  expect(result).toMatchObject({ kind: 'lost', cause: 'host', reason: 'connection_lost' });
});

test('what we give up ourselves is ours: before it was sent, proof; under way, lost', async () => {
  const stop = new AbortController();
  const host = await serve(() => {
    stop.abort();
  });
  const result = await sides.client.execute(callTo(host, { signal: stop.signal }), BODY);
  expect(result).toMatchObject({ kind: 'lost', cause: 'ours', reason: 'aborted' });
  const early = await sides.client.execute(callTo(host, { signal: stop.signal }), BODY);
  expect(early).toMatchObject({ kind: 'not_sent', reason: 'aborted' });
});

test('a refused connection is proof that nothing began', async () => {
  const server = createTcpServer();
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      resolve((server.address() as AddressInfo).port);
    });
  });
  await new Promise((resolve) => server.close(resolve));
  const result = await sides.client.execute(
    callTo(peerAt(`http://127.0.0.1:${String(port)}`)),
    BODY,
  );
  expect(result).toMatchObject({ kind: 'not_sent', reason: 'connection_refused' });
  expect(provesNotStarted(result)).toBe(true);
});

test.each(['http://example.com', 'https://127.0.0.1', 'ftp://127.0.0.1', 'http://a@localhost', ''])(
  'the endpoint %j is not called as one on loopback',
  async (url) => {
    const result = await sides.client.execute(callTo(peerAt(url)), BODY);
    expect(result).toMatchObject({ kind: 'not_sent', reason: 'endpoint_refused' });
  },
);

test('an endpoint on loopback is not called as https', async () => {
  const host = await serve(answering((good) => good));
  const call = callTo(host, { route: { transportProfile: 'https' } });
  expect(await sides.client.execute(call, BODY)).toMatchObject({ reason: 'endpoint_refused' });
});

test('a request that no host would take is not sent', async () => {
  const host = await serve(answering((good) => good));
  const result = await sides.client.execute(callTo(host), Buffer.alloc(1_048_577));
  expect(result).toMatchObject({ kind: 'not_sent', reason: 'request_too_large' });
});

test('an endpoint may have a path', async () => {
  const paths: string[] = [];
  const good = answering((answer) => answer);
  const host = await serve((request, response) => {
    paths.push(request.url ?? '');
    good(request, response);
  });
  await sides.client.cancel(
    callTo({ ...host, url: `${host.url}/hosts/a/` }, { route: { actionId: 'a.1' } }),
  );
  expect(paths).toEqual(['/hosts/a/v1/actions/a.1/cancel']);
});
