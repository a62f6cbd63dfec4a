/** No body is nested so deep that a function which calls itself could run out of stack over it. */
import type { FastifyInstance } from 'fastify';
import { WaybillError } from '../domain/errors';
import { isShallow, MAX_NESTING } from '../schemas/nesting';

/** Around what a capability or a fleet takes. */
const AROUND = 10;

export function boundNesting(app: FastifyInstance): void {
  app.addHook('preValidation', (request, _reply, done) => {
    // What is read by its handler is bounded there.
    if (Buffer.isBuffer(request.body) || isShallow(request.body, MAX_NESTING + AROUND)) {
      done();
      return;
    }
    const detail = `The body has more than ${MAX_NESTING + AROUND} levels of arrays and objects.`;
    done(new WaybillError('invalid_request', detail, { field: 'body' }));
  });
}
