/** Ports of runs at once. Real sockets. */
import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { HeldPorts } from '../../src/qualification/site/ports';

test('two runs have no port in common, and nobody else gets one before its process has it', async () => {
  const [one, other] = await Promise.all([HeldPorts.take(), HeldPorts.take()]);
  try {
    const all = [...Object.values(one.ports), ...Object.values(other.ports)];
    expect(new Set(all).size).toBe(all.length);
    const { edge } = one.ports;
    const thief = createServer();
    thief.listen(edge, '127.0.0.1');
    const [error] = (await once(thief, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('EADDRINUSE');
    await one.release('edge');
    thief.listen(edge, '127.0.0.1');
    await once(thief, 'listening');
    const client = connect(edge, '127.0.0.1');
    await once(client, 'connect');
    client.destroy();
    thief.close();
    await once(thief, 'close');
  } finally {
    await Promise.all([one.releaseAll(), other.releaseAll()]);
  }
});
