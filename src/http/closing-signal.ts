import { setMaxListeners } from 'node:events';
import type { FastifyInstance } from 'fastify';

/** Aborted when the server begins to close: whoever waits is then answered with what is known. */
export function closingSignal(app: FastifyInstance): AbortSignal {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  app.addHook('preClose', (done) => {
    closing.abort();
    done();
  });
  return closing.signal;
}
