/** Closing a server without waiting for connections on which nobody asks anything. */
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';

/**
 * Has the server, once it is closed, end connections on which no byte has come, and each other one with
 * the answer that is under way. Node ends by itself those alone that are idle at that moment, and no
 * longer looks at the time-outs of the rest: closing would wait for as long as their clients like. To be
 * called before it listens.
 */
export function closePromptly(app: FastifyInstance): void {
  const open = new Set<Socket>();
  let closing = false;
  app.server.on('connection', (socket: Socket) => {
    if (closing) {
      socket.destroy();
      return;
    }
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  app.addHook('preClose', (done) => {
    closing = true;
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy();
    done();
  });
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) void reply.header('connection', 'close');
    done();
  });
}
