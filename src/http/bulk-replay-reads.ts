/** Finding and showing bulk replays, and what became of each delivery in them. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listBulkReplays, listReplayItems, showBulkReplay } from '../db/bulk-replay-lists';
import type { BulkReplayRef } from '../domain/bulk-replays';
import { WaybillError } from '../domain/errors';
import { replayJobId } from '../domain/ids';
import {
  BulkReplay,
  BulkReplayPage,
  BulkReplayParams,
  ListBulkReplaysQuery,
  ListReplayItemsQuery,
  ReplayItemPage,
} from '../schemas/api-bulk-replays';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { readPage } from './pages';
import { bulkReplayLinks } from './workflow-links';

const SCOPE = 'factory.replays.read';

/** Registers the routes on an instance that requires tokens. */
export function bulkReplayReads(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/v1/replays',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listBulkReplays',
      summary: 'Bulk replays, newest first.',
      tags: ['replays'],
      security: needs(SCOPE),
      querystring: ListBulkReplaysQuery,
      response: {
        200: answer('One page.', BulkReplayPage),
        ...problems([...EVERY_CALL, 'invalid_cursor']),
      },
    },
    handler: (request) => listPage(deps, request, request.query),
  });
  typed.route({
    method: 'GET',
    url: '/v1/replays/:jobId',
    config: { scope: SCOPE },
    schema: {
      operationId: 'showBulkReplay',
      summary: 'One bulk replay: its plan, how far it is, and in the end what came of it.',
      tags: ['replays'],
      security: needs(SCOPE),
      params: BulkReplayParams,
      response: {
        200: answer('The job with a sample, an estimate and its receipt.', BulkReplay),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: (request) => {
      const { tenantId } = principalOf(request);
      return readBulkReplay(deps, { tenantId, jobId: replayJobId(request.params.jobId) });
    },
  });
  typed.route({
    method: 'GET',
    url: '/v1/replays/:jobId/items',
    config: { scope: SCOPE },
    schema: {
      operationId: 'listBulkReplayItems',
      summary: 'The deliveries of one bulk replay, oldest first, with what became of each.',
      tags: ['replays'],
      security: needs(SCOPE),
      params: BulkReplayParams,
      querystring: ListReplayItemsQuery,
      response: {
        200: answer('One page.', ReplayItemPage),
        ...problems([...EVERY_CALL, 'invalid_cursor', 'not_found']),
      },
    },
    handler: (request) => itemPage(deps, request, request.params.jobId, request.query),
  });
}

/** @throws WaybillError `not_found` when the tenant has none such */
export async function readBulkReplay(deps: HttpDeps, ref: BulkReplayRef): Promise<BulkReplay> {
  const found = await showBulkReplay(deps.data, ref);
  if (found === null) throw new WaybillError('not_found');
  return { ...found, ...bulkReplayLinks(deps, ref) };
}

async function listPage(
  deps: HttpDeps,
  request: FastifyRequest,
  { limit, cursor, state }: z.output<typeof ListBulkReplaysQuery>,
): Promise<BulkReplayPage> {
  const { tenantId } = principalOf(request);
  const scope = { list: 'replays', tenantId, filters: { state } } as const;
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope, limit, cursor },
    (position, count) => {
      const after = position && { createdAt: position[0], jobId: position[1] };
      return listBulkReplays(deps.data, { tenantId, state: state ?? null, after, limit: count });
    },
    (row) => [row.createdAt, row.jobId],
  );
  const replays = rows.map((row) => ({
    ...row,
    ...bulkReplayLinks(deps, { tenantId, jobId: replayJobId(row.jobId) }),
  }));
  return { view: 'live', replays, nextCursor };
}

async function itemPage(
  deps: HttpDeps,
  request: FastifyRequest,
  job: string,
  { limit, cursor, outcome }: z.output<typeof ListReplayItemsQuery>,
): Promise<ReplayItemPage> {
  const { tenantId } = principalOf(request);
  const ref = { tenantId, jobId: replayJobId(job) };
  // An unknown job is not one without deliveries.
  await readBulkReplay(deps, ref);
  const scope = { list: 'replay-items', tenantId, filters: { job, outcome } } as const;
  const { rows, nextCursor } = await readPage(
    { cursorKey: deps.cursorKey, scope, limit, cursor },
    (position, count) =>
      listReplayItems(deps.data, {
        ...ref,
        outcome: outcome ?? null,
        after: position === null ? 0 : Number(position[0]),
        limit: count,
      }),
    (row) => [String(row.position), row.deliveryId],
  );
  return { view: 'live', items: rows, nextCursor };
}
