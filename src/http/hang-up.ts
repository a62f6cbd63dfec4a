import type { FastifyReply } from 'fastify';

/** Aborted when the caller has gone, or has its answer. */
export function hangUp(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => {
    gone.abort();
  });
  return gone.signal;
}
