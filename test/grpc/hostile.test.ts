/**
 * Calls as no well-behaved client makes them, frame by frame over HTTP/2. Real: the server, sockets, Postgres.
 * Whatever comes is answered with a status within its bounds, and the next call is served.
 */
import { connect, constants, type IncomingHttpHeaders } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { status } from '@grpc/grpc-js';
import { DEFAULT_LIMITS } from '../../src/grpc/deps';
import type { GrpcServer } from '../../src/grpc/server';
import { CAPABILITY, Rig } from '../registry/fixture';
import { postgresFixture } from '../registry/postgres-fixture';
import { createTestDatabase } from '../support/test-database';
import { until } from '../support/until';
import { call, GrpcRig } from './rig';

const PATH = '/waybill.connectors.v1.Connectors/ResolveCapability';
const CALL_MS = 700;

let rig: GrpcRig;
let server: GrpcServer;
let resolved = 0;
let aborted = 0;
beforeAll(async () => {
  rig = await GrpcRig.make(await createTestDatabase());
  await new Rig(postgresFixture(rig.db)).account();
  server = await rig.serve({
    limits: { ...DEFAULT_LIMITS, callMs: CALL_MS },
    deliver: (_order, _who, signal) =>
      new Promise((_done, fail) => {
        resolved += 1;
        signal.addEventListener('abort', () => {
          aborted += 1;
          fail(new Error('nobody waits'));
        });
      }),
  });
});
afterAll(async () => {
  await rig.stop();
  await rig.db.drop();
});
afterEach(async () => {
  const metadata = await rig.metadata();
  const served = await call(
    ...[rig.client(server), 'ResolveCapability', { capabilityId: CAPABILITY }, { metadata }],
  );
  expect(served).toMatchObject({ answer: { instanceId: 'main' } });
});

interface Wished {
  readonly headers?: Readonly<Record<string, string>>;
  /** The request is left open. */
  readonly open?: boolean;
}

/** What is answered to these bytes; its status as a number. */
async function send(bytes: Buffer, { headers = {}, open = false }: Wished = {}) {
  const token = await rig.token();
  const session = connect(`http://127.0.0.1:${server.port}`);
  const got: IncomingHttpHeaders = {};
  await new Promise<void>((done, fail) => {
    session.on('error', fail);
    const stream = session.request({
      ...{ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' },
      ...{ authorization: `Bearer ${token}`, ...headers },
    });
    stream.on('response', (head) => Object.assign(got, head));
    stream.on('trailers', (tail: IncomingHttpHeaders) => Object.assign(got, tail));
    stream.on('end', () => {
      stream.close();
    });
    stream.on('error', fail).on('close', done).resume();
    stream.write(bytes);
    if (!open) stream.end();
  });
  session.close();
  return { http: got[':status'], status: Number(got['grpc-status']), said: got['grpc-message'] };
}

function frame(message: Buffer, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const asked = Buffer.concat([Buffer.from([0x0a, CAPABILITY.length]), Buffer.from(CAPABILITY)]);
const zipped = { headers: { 'grpc-encoding': 'gzip' } };

test.each<[string, Buffer, Wished, status]>([
  ['a message of gzip', frame(gzipSync(asked), 1), zipped, status.OK],
  [
    'a message that unfolds to 50 MB',
    frame(gzipSync(Buffer.alloc(50_000_000)), 1),
    ...([zipped, status.RESOURCE_EXHAUSTED] as const),
  ],
  ['gzip that is none', frame(Buffer.from('junk'), 1), zipped, status.INTERNAL],
  ['bytes that are no message', frame(Buffer.from([255, 255])), {}, status.INTERNAL],
  ['4 GiB, announced', Buffer.from([0, 255, 255, 255, 255]), {}, status.RESOURCE_EXHAUSTED],
  ['two messages', Buffer.concat([frame(asked), frame(asked)]), {}, status.UNIMPLEMENTED],
  ['no whole message', frame(asked).subarray(0, 9), {}, status.UNIMPLEMENTED],
  [
    'half a message, and silence',
    frame(asked).subarray(0, 9),
    { open: true },
    status.DEADLINE_EXCEEDED,
  ],
  [
    'a time that is over',
    frame(asked),
    { headers: { 'grpc-timeout': '1n' } },
    status.DEADLINE_EXCEEDED,
  ],
  ['a time that is none', frame(asked), { headers: { 'grpc-timeout': 'zz' } }, status.INTERNAL],
  ['another tenant as metadata', frame(asked), { headers: { tenant: 'globex' } }, status.OK],
  [
    'a method that is none',
    frame(asked),
    { headers: { ':path': '/waybill.x/Y' } },
    status.UNIMPLEMENTED,
  ],
])('%s is answered', async (_what, bytes, wished, wanted) => {
  expect((await send(bytes, wished)).status).toBe(wanted);
});

test('what is no gRPC is no call', async () => {
  const { http } = await send(frame(asked), { headers: { 'content-type': 'application/json' } });
  expect(http).toBe(415);
});

test('whoever hangs up is not waited for', async () => {
  const token = await rig.token({ scopes: ['factory.deliveries.send'] });
  const session = connect(`http://127.0.0.1:${server.port}`);
  const stream = session.request({
    ...{ ':method': 'POST', ':path': PATH.replace('ResolveCapability', 'Deliver') },
    ...{ 'content-type': 'application/grpc', te: 'trailers', authorization: `Bearer ${token}` },
  });
  stream.on('error', () => undefined);
  const texts = ['pay', 'pay', 'send', 'k-1'].map((text, index) =>
    Buffer.concat([Buffer.from([((index + 1) << 3) | 2, text.length]), Buffer.from(text)]),
  );
  stream.end(frame(Buffer.concat(texts)));
  await until('it is asked for', () => Promise.resolve(resolved > 0 || null));
  stream.close(constants.NGHTTP2_CANCEL);
  await until('it is given up', () => Promise.resolve(aborted > 0 || null));
  session.close();
});
