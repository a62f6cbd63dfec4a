/**
 * Closing servers while clients hold connections open. Real: sockets, the API's
 * server over a real Postgres, a host of the kit.
 */
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import fastify from 'fastify';
import { closePromptly } from '../../src/hosts/prompt-closing';
import { TestWaybill } from '../../src/hosts/host-kit-testing';
import { Harness } from '../http/harness';

const held: Socket[] = [];
afterEach(() => {
  for (const socket of held.splice(0)) socket.destroy();
});

async function hold(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  held.push(socket);
  await once(socket, 'connect');
  return socket;
}

test('a server ends what asks nothing, and answers what is under way on connections that are kept', async () => {
  const app = fastify({ forceCloseConnections: 'idle', return503OnClosing: false });
  closePromptly(app);
  const turns = new EventEmitter();
  const asked = once(turns, 'asked');
  app.get('/', async () => {
    turns.emit('asked');
    await once(turns, 'answer');
    return 'done';
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  const silent = once(await hold(url), 'close');
  const answer = fetch(url).then((response) => response.text());
  await asked;
  const closed = app.close();
  await silent;
  turns.emit('answer');
  expect(await answer).toBe('done');
  await closed;
});

test('a host that stops does not wait for it', async () => {
  const waybill = await TestWaybill.start();
  const host = await waybill.host({ connectorId: 'things', version: '1.0.0', capabilities: {} });
  const silent = once(await hold(host.url), 'close');
  await waybill.stop();
  await silent;
});

test('nor does the API', async () => {
  const api = await Harness.start();
  const silent = once(await hold(api.url), 'close');
  await api.stop();
  await silent;
});
