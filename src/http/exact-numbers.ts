/** No number of a body is taken for another one: an id above 2^53 would name something else. */
import type { FastifyInstance } from 'fastify';
import { WaybillError } from '../domain/errors';
import { inexactNumber } from '../schemas/json-bytes';

const SHOWN = 40;

export function refuseInexactNumbers(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser<string>(
    'application/json',
    { parseAs: 'string' },
    (request, text, done) => {
      const inexact = inexactNumber(text);
      if (inexact === null) {
        void parse(request, text, done);
        return;
      }
      const detail = `The number ${inexact.slice(0, SHOWN)} cannot be held exactly; write it as a string.`;
      done(new WaybillError('invalid_request', detail, { field: 'body' }));
    },
  );
}
