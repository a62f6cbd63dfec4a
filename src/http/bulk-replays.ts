/** Planning bulk replays, and what people do with them. The tenant is the token's, always. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { createBulkReplay, moveBulkReplay } from '../db/bulk-replays';
import type { BulkReplayMove } from '../domain/bulk-replays';
import { BULK_REPLAY_MOVES } from '../domain/bulk-replays';
import { WaybillError } from '../domain/errors';
import { replayJobId } from '../domain/ids';
import {
  BulkReplay,
  BulkReplayParams,
  MoveReplayBody,
  PlanReplayBody,
} from '../schemas/api-bulk-replays';
import { principalOf } from './authorization';
import { readBulkReplay } from './bulk-replay-reads';
import type { HttpDeps } from './deps';
import { effectIdOf, KEY_PROBLEMS } from './idempotency';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { HttpProblem } from './problems';
import { requireInbound } from './replay-limits';

const SCOPE = 'factory.replays.operate';

/** Of one tenant, that are not over. */
const MOST_OPEN = 20;

const SUMMARIES: Readonly<Record<BulkReplayMove, string>> = {
  run: 'Lets a planned job run.',
  pause: 'Pauses a running job; what it has replayed goes on.',
  resume: 'Lets a paused job go on.',
  cancel: 'Ends a job; what it has replayed goes on.',
};

/** Registers the routes on an instance that requires tokens. */
export function bulkReplayRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'POST',
    url: '/v1/replays',
    config: { scope: SCOPE, idempotencyKey: 'optional' },
    schema: {
      operationId: 'planBulkReplay',
      summary: 'Plans the replay of all failed deliveries that match; nothing is replayed yet.',
      tags: ['replays'],
      security: needs(SCOPE),
      body: PlanReplayBody,
      response: {
        202: answer('The job, whose plan is being made.', BulkReplay),
        ...problems([...EVERY_CALL, ...KEY_PROBLEMS, 'too_many_replays', 'body_too_large']),
      },
    },
    handler: async (request, reply) =>
      reply.code(202).send(await plan(deps, request, request.body)),
  });
  for (const move of BULK_REPLAY_MOVES) {
    typed.route({
      method: 'POST',
      url: `/v1/replays/:jobId/${move}`,
      config: { scope: SCOPE },
      schema: {
        operationId: `${move}BulkReplay`,
        summary: SUMMARIES[move],
        tags: ['replays'],
        security: needs(SCOPE),
        params: BulkReplayParams,
        body: MoveReplayBody,
        response: {
          200: answer('The job. Two calls are one move.', BulkReplay),
          ...problems([...EVERY_CALL, 'not_found', 'replay_refused', 'body_too_large']),
        },
      },
      handler: (request) =>
        moved(deps, request, { move, ...request.params, reason: request.body?.reason ?? null }),
    });
  }
}

async function plan(
  deps: HttpDeps,
  request: FastifyRequest,
  { filter, ratePerSecond, reason }: z.output<typeof PlanReplayBody>,
): Promise<BulkReplay> {
  const principal = principalOf(request);
  const { tenantId, subject: by } = principal;
  requireInbound(principal);
  const known = effectIdOf(request);
  const jobId = known === null ? deps.bulkReplays.newJobId() : replayJobId(known);
  const ref = { tenantId, jobId };
  const made = await createBulkReplay(
    deps.data,
    ref,
    { filter, ratePerSecond, reason, by },
    MOST_OPEN,
  );
  if (made.answer === 'too_many') {
    throw new WaybillError(
      'too_many_replays',
      `${MOST_OPEN} bulk replays are not over; run or cancel those that are planned or paused`,
    );
  }
  deps.log.info({ ...ref, by }, 'bulk replay asked for');
  deps.bulkReplays.nudge(ref);
  return await readBulkReplay(deps, ref);
}

async function moved(
  deps: HttpDeps,
  request: FastifyRequest,
  asked: {
    readonly move: BulkReplayMove;
    readonly jobId: string;
    readonly reason: string | null;
  },
): Promise<BulkReplay> {
  const principal = principalOf(request);
  const { tenantId, subject: by } = principal;
  requireInbound(principal);
  const { move, reason } = asked;
  const ref = { tenantId, jobId: replayJobId(asked.jobId) };
  const answered = await moveBulkReplay(deps.data, { ...ref, move, by, reason });
  deps.log.info({ ...ref, by, move, outcome: answered.answer }, 'bulk replay moved');
  switch (answered.answer) {
    case 'unknown_job':
      throw new WaybillError('not_found');
    case 'refused':
      throw new HttpProblem(
        'replay_refused',
        `\`${move}\` is not for a job that is ${answered.state}.`,
        { extra: { state: answered.state } },
      );
    case 'moved':
    case 'already':
      deps.bulkReplays.nudge(ref);
      return await readBulkReplay(deps, ref);
  }
}
