import { createServer } from 'node:net';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../../src/workers/embedded/ports';
import { stateFolder } from '../../../src/workers/embedded/state-folder';
import { findTemporalCli } from '../../../src/workers/embedded/temporal-binary';
import {
  startTemporal,
  type TemporalOptions,
  type TemporalServer,
} from '../../../src/workers/embedded/temporal-server';
import { gone, newFolder, removeFolders } from './fixtures';

/** A real dev server of its own, with a database file, since it is killed here. */
describe('embedded Temporal server', () => {
  let options: TemporalOptions;
  let server: TemporalServer;

  beforeAll(async () => {
    const folder = newFolder();
    const { path } = await findTemporalCli({
      stateFolder: stateFolder(process.env, process.cwd()),
      env: process.env,
    });
    options = {
      executable: path,
      stateFolder: folder,
      port: await freePort(),
      uiPort: await freePort(),
      databaseFile: join(folder, 'temporal.db'),
      searchAttributes: { First: 'Keyword' },
    };
    server = await startTemporal(options);
  });

  afterAll(async () => {
    await server.stop();
    removeFolders();
  });

  test('serves its namespace, the search attributes and the UI at once', async () => {
    await expect(attributeNames(server.address)).resolves.toEqual(['First']);
    const page = await fetch(server.uiUrl);
    expect(page.status).toBe(200);
  });

  test('killed and started again on the same ports, it has what it was told', async () => {
    await withClient(server.address, (client) =>
      client.workflow.start('noWorker', { taskQueue: 'none', workflowId: 'kept' }),
    );
    const first = server.pid ?? 0;
    await server.kill('SIGKILL');
    await gone(first);
    await server.start();
    const described = await withClient(server.address, (client) =>
      client.workflow.getHandle('kept').describe(),
    );
    expect(described.status.name).toBe('RUNNING');
  });

  test('an attribute that is new to an old database file is registered', async () => {
    await server.kill('SIGKILL');
    server = await startTemporal({
      ...options,
      searchAttributes: { First: 'Keyword', Second: 'Datetime' },
    });
    await expect(attributeNames(server.address)).resolves.toEqual(['First', 'Second']);
  });

  test('a taken UI port is named with its setting before anything starts', async () => {
    const holder = createServer();
    const uiPort = await freePort();
    await new Promise<void>((resolve) => holder.listen(uiPort, '127.0.0.1', resolve));
    const taken = startTemporal({
      ...options,
      stateFolder: newFolder(),
      port: await freePort(),
      uiPort,
      portSettings: { port: '--temporal-port', uiPort: '--temporal-ui-port' },
    });
    await expect(taken).rejects.toMatchObject({
      code: 'port_in_use',
      message: expect.stringContaining('--temporal-ui-port') as string,
    });
    await new Promise((resolve) => holder.close(resolve));
  });

  test('a server that cannot use its file fails at once with its last lines', async () => {
    const failed = startTemporal({
      ...options,
      stateFolder: newFolder(),
      port: await freePort(),
      uiPort: await freePort(),
      databaseFile: '/no/such/folder/temporal.db',
    });
    await expect(failed).rejects.toMatchObject({ code: 'server_start_failed' });
    await expect(failed).rejects.toThrow(/its last lines:[^]*\/no\/such\/folder/);
  });
});

async function withClient<T>(address: string, use: (client: Client) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  try {
    return await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

function attributeNames(address: string): Promise<string[]> {
  return withClient(address, async (client) => {
    const request = { namespace: 'default' };
    const answer = await client.connection.operatorService.listSearchAttributes(request);
    return Object.keys(answer.customAttributes).sort();
  });
}
