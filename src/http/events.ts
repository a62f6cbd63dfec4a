/** The feed of events, and the sinks they are sent to. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listEventSinks } from '../db/event-sinks';
import { feedEnd, readEvents } from '../db/events';
import { WaybillError } from '../domain/errors';
import { cloudEvent } from '../domain/events';
import {
  EventPage,
  EventSinkPage,
  ListEventSinksQuery,
  ListEventsQuery,
} from '../schemas/api-events';
import { principalOf } from './authorization';
import { readCursor, writeCursor, type CursorScope } from './cursors';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';

const SCOPE = 'factory.events.read';

/** Registers the routes on an instance that requires tokens. */
export function eventRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/v1/events',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listEvents',
      summary: 'Events behind a place in the feed, as CloudEvents.',
      tags: ['events'],
      security: needs(SCOPE),
      querystring: ListEventsQuery,
      response: {
        200: answer('One page; ask again with its next, also after an empty one.', EventPage),
        ...problems([...EVERY_CALL, 'invalid_cursor', 'events_forgotten']),
      },
    },
    handler: (request) => eventPage(deps, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/v1/event-sinks',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listEventSinks',
      summary: "The tenant's event sinks, and how they fare.",
      tags: ['events'],
      security: needs(SCOPE),
      querystring: ListEventSinksQuery,
      response: {
        200: answer('One page.', EventSinkPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => sinkPage(deps, request, request.query),
  });
}

async function eventPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { after, types, limit }: z.output<typeof ListEventsQuery>,
): Promise<EventPage> {
  const { tenantId } = principalOf(request);
  // A place in the feed is one for whatever types.
  const scope: CursorScope = { list: 'events', tenantId, filters: {} };
  const page = await readEvents(deps.data, {
    tenantId,
    after: await placeOf(deps, scope, after),
    topics: types ?? null,
    limit,
  });
  if (page.answer === 'forgotten') throw new WaybillError('events_forgotten', '', AFTER);
  return {
    events: page.events.map((event) => {
      const { type, ...attributes } = cloudEvent(event);
      return { ...attributes, type: type as EventPage['events'][number]['type'] };
    }),
    next: writeCursor(deps.cursorKey, scope, [String(page.through), '']),
    more: page.more,
  };
}

const AFTER = { field: 'after' } as const;

async function placeOf(
  { data, cursorKey }: HttpDeps,
  scope: CursorScope,
  after: string | undefined,
): Promise<number | null> {
  if (after === undefined) return null;
  if (after === 'end') return feedEnd(data, scope.tenantId);
  try {
    return Number(readCursor(cursorKey, scope, after)[0]);
  } catch (error) {
    if (error instanceof WaybillError) throw new WaybillError(error.code, '', AFTER);
    throw error;
  }
}

async function sinkPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor }: z.output<typeof ListEventSinksQuery>,
): Promise<EventSinkPage> {
  const { tenantId } = principalOf(request);
  const { rows, nextCursor } = await readPage(
    {
      cursorKey: deps.cursorKey,
      scope: { list: 'event-sinks', tenantId, filters: {} },
      limit,
      cursor,
    },
    (after, count) =>
      listEventSinks(deps.data, { tenantId, after: after?.[0] ?? null, limit: count }),
    (row) => [row.sinkId, ''],
  );
  // A token may stand in the query.
  const sinks = rows.map((row) => ({ ...row, url: row.url.replace(/\?.*$/s, '?…') }));
  return { view: 'live', sinks, nextCursor };
}
