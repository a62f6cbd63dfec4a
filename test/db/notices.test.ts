/**
 * Listening for notices. Real: Postgres, and sockets. Doubled: a server that says nothing, and one that
 * refuses to let anybody listen.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { ingestDelivery } from '../../src/db/deliveries';
import { listenExpress, noticeExpress } from '../../src/db/notices';
import { tenantId, type TenantId } from '../../src/domain/ids';
import { Hint } from '../../src/workers/loops/hint';
import { insertCatalog } from '../support/catalog-fixture';
import { keptBySignal } from '../support/kept-by-signal';
import { verifiedRequest } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../support/until';

let db: TestDatabase;
const servers: Server[] = [];
const stopping: AbortController[] = [];
beforeAll(async () => {
  db = await createTestDatabase();
});
afterEach(() => {
  for (const each of stopping) each.abort();
});
afterAll(async () => {
  for (const server of servers) server.close();
  await db.drop();
});

/** Listens to the database until the test ends; `heard` grows with each notice. */
function listen(onNotice = (): void => undefined) {
  const stop = new AbortController();
  stopping.push(stop);
  const { signal } = stop;
  const heard: (TenantId | null)[] = [];
  const listening = listenExpress({
    ...{ url: db.url, role: 'waybill_operations', signal },
    onNotice: (tenant) => {
      heard.push(tenant);
      onNotice();
    },
    onError: () => undefined,
  });
  const hears = (count: number) =>
    until(`${count} were heard`, () => Promise.resolve(heard.length >= count ? true : null));
  const stopped = async () => {
    stop.abort();
    await listening;
  };
  return { heard, hears, signal, stop: stopped };
}

/** Listens at a server of which only the sockets are real; resolves with the first of them. */
async function listenAt(conduct: (socket: Socket) => void) {
  const server = createServer(conduct).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stopping = new AbortController();
  const errors: string[] = [];
  const connected = once(server, 'connection') as Promise<[Socket]>;
  const listening = listenExpress({
    ...{ url: `postgres://nobody@127.0.0.1:${String(port)}/none`, role: null },
    onNotice: () => undefined,
    onError: ({ message }) => errors.push(message),
    signal: stopping.signal,
  });
  const [socket] = await connected;
  return { stopping, listening, errors, socket };
}

test('a notice ends the pause of whoever listens, also on the connection after one that broke', async () => {
  const hint = new Hint();
  const { heard, hears, signal, stop } = listen(() => {
    hint.wake();
  });
  await hears(1);
  const [acme, zoo] = [tenantId('acme'), tenantId('zoo')];
  await noticeExpress(db.as('waybill_data'), [acme]);
  await hears(2);
  await hint.wait(60_000, signal);
  await db.rows(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'waybill-notices' and datname = current_database()`,
  );
  await hears(3);
  await noticeExpress(db.as('waybill_data'), [zoo, acme]);
  await hears(5);
  // Of a connection it is not known what came before it.
  expect(heard).toEqual([null, acme, null, zoo, acme]);
  expect(keptBySignal(signal)).toBe(1);
  await stop();
});

test('the commit of what waits for the loop tells of it where it is asked to; no other one does', async () => {
  const { heard, hears, stop } = listen();
  await hears(1);
  const durable = await insertCatalog(db, { tenant: 'durable' });
  const acme = await insertCatalog(db, { tenant: 'acme', lane: 'express' });
  const zoo = await insertCatalog(db, { tenant: 'zoo', lane: 'express' });
  const data = db.as('waybill_data');
  const request = verifiedRequest(acme);
  const told = [
    await ingestDelivery(data, verifiedRequest(durable), true),
    await ingestDelivery(data, request),
    // A copy of it: nothing more waits for the loop.
    await ingestDelivery(data, { ...request, deliveryId: verifiedRequest(acme).deliveryId }, true),
    await ingestDelivery(data, verifiedRequest(zoo), true),
  ];
  await hears(2);
  expect(heard).toEqual([null, zoo.tenant]);
  expect(told).toMatchObject([{ told: false }, { told: false }, { told: false }, { told: true }]);
  await stop();
});

test('it stops while it connects to a server that takes the connection and says nothing', async () => {
  const { stopping, listening, errors } = await listenAt((socket) => socket.resume());
  stopping.abort();
  await listening;
  expect(errors).toEqual([]);
  expect(keptBySignal(stopping.signal)).toBe(0);
});

test('a connection on which nobody may listen is told of and closed', async () => {
  const { stopping, listening, errors, socket } = await listenAt((socket) => {
    socket.once('data', () => socket.write(WELCOME));
    socket.on('data', (sent) => {
      if (sent.toString('latin1').startsWith('Q')) socket.write(REFUSAL);
    });
  });
  await once(socket, 'close');
  expect(errors).toEqual(['no']);
  stopping.abort();
  await listening;
});

/** A message of the protocol: its letter, its length, what it says. */
function message(letter: string, said: string): Buffer {
  const head = Buffer.alloc(5, letter);
  head.writeInt32BE(4 + said.length, 1);
  return Buffer.concat([head, Buffer.from(said, 'latin1')]);
}
const READY = message('Z', 'I');
const WELCOME = Buffer.concat([message('R', '\0\0\0\0'), READY]);
const REFUSAL = Buffer.concat([message('E', 'SERROR\0C0A000\0Mno\0\0'), READY]);
