import { createServer, type AddressInfo, type Server } from 'node:net';
import { freePort, requireFreePort } from '../../../src/workers/embedded/ports';

/** Real sockets on loopback. */
describe('ports', () => {
  let holder: Server;

  beforeEach((done) => {
    holder = createServer().listen(0, '127.0.0.1', done);
  });

  afterEach((done) => {
    holder.close(done);
  });

  test('a taken port is one line that names the port, who wants it and the setting', async () => {
    const { port } = holder.address() as AddressInfo;
    const wish = { port, wantedBy: 'the Temporal UI', setting: '--temporal-ui-port' };
    await expect(requireFreePort(wish)).rejects.toMatchObject({
      code: 'port_in_use',
      message:
        `Port ${port} on 127.0.0.1, wanted by the Temporal UI, is in use; ` +
        'free it or choose another one with --temporal-ui-port.',
    });
  });

  test('a free port passes', async () => {
    const port = await freePort();
    await expect(
      requireFreePort({ port, wantedBy: 'Postgres', setting: '--postgres-port' }),
    ).resolves.toBeUndefined();
  });
});
