/** Where a system of connections tells of them, by CloudEvents 1.0 in structured or binary mode. */
import { HTTP, type CloudEventV1 } from 'cloudevents';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { WaybillError } from '../domain/errors';
import {
  ConnectionEvent,
  ConnectionEventAnswer,
  ConnectionEventBody,
} from '../schemas/api-connection-events';
import { takeConnectionReport } from '../services/connection-reports';
import { principalOf } from './authorization';
import type { AdminDeps, HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';

const SCOPE = 'factory.connections.events';

/** Registers the route on an instance that requires tokens. */
export function connectionEventRoutes(
  app: FastifyInstance,
  { log }: HttpDeps,
  { subscriptions: { control } }: AdminDeps,
): void {
  // Of this route alone.
  app.register((events, _options, done) => {
    events.addContentTypeParser(
      'application/cloudevents+json',
      { parseAs: 'string' },
      events.getDefaultJsonParser('error', 'error'),
    );
    events.withTypeProvider<ZodTypeProvider>().route({
      method: 'POST',
      url: '/v1/connection-events',
      config: { scope: SCOPE },
      schema: {
        operationId: 'reportConnection',
        summary: 'Takes on that a connection was enabled, disabled or revoked.',
        tags: ['subscriptions'],
        security: needs(SCOPE),
        consumes: ['application/cloudevents+json', 'application/json'],
        body: ConnectionEventBody,
        response: {
          200: answer('Taken on, or known.', ConnectionEventAnswer),
          ...problems([
            ...EVERY_CALL,
            ...(['not_found', 'connection_state_refused'] as const),
            ...(['publication_busy', 'body_too_large'] as const),
          ]),
        },
      },
      handler: async (request) => {
        const { tenantId, subject } = principalOf(request);
        const event = readEvent(request);
        const { connectionId, tenantId: named = tenantId } = event.data;
        if (named !== tenantId) {
          throw invalid("data.tenantId: is not the token's tenant", 'data.tenantId');
        }
        const outcome = await takeConnectionReport(control, tenantId, event, subject);
        log.info({ tenantId, connectionId, outcome }, 'connection reported');
        return { outcome };
      },
    });
    done();
  });
}

function readEvent({ headers, body }: FastifyRequest): ConnectionEvent {
  const found = ConnectionEvent.safeParse(cloudEvent(headers, body));
  if (found.success) return found.data;
  const [issue] = found.error.issues;
  const field = issue?.path.join('.') ?? 'body';
  throw invalid(`${field}: ${issue?.message ?? 'is wrong'}`, field);
}

function cloudEvent(headers: FastifyRequest['headers'], body: unknown): CloudEventV1<unknown> {
  // The library knows one spelling of each: senders write parameters as they like.
  const [mediaType = ''] = (headers['content-type'] ?? '').split(';', 1);
  const plain = { ...headers, 'content-type': mediaType.trim().toLowerCase() };
  try {
    const event = HTTP.toEvent({ headers: plain, body: JSON.stringify(body) });
    if (!Array.isArray(event)) return event;
  } catch {
    // Its message may quote the event.
  }
  throw invalid('This is no CloudEvent 1.0, in structured or binary mode.', 'body');
}

function invalid(detail: string, field: string): WaybillError {
  return new WaybillError('invalid_request', detail, { field });
}
