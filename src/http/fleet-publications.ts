/**
 * Publishing a fleet, and what that would change. A fleet names tenants itself: whoever may publish
 * one is an operator of the whole deployment (docs/security, "Who may do what").
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { ErrorCode } from '../domain/errors';
import { WaybillError } from '../domain/errors';
import {
  FleetBody,
  FleetDifference,
  LISTED_CHANGES,
  PublishedFleet,
} from '../schemas/api-fleet-publications';
import type { Fleet } from '../schemas/fleet';
import { FleetInvalid } from '../schemas/fleet/mistakes';
import { diffFleet, publishFleet } from '../services/publications';
import { checkedFleet } from '../services/publications/checked-fleets';
import type { FleetChange } from '../services/publications/row-differences';
import { principalOf } from './authorization';
import type { AdminDeps, HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';
import { HttpProblem } from './problems';
import { isNarrowed } from './token-limits';

const SCOPE = 'factory.fleet.publish';

/** Reading takes the process up to seconds a MiB; larger fleets are for `waybill apply`. */
const BODY_LIMIT_BYTES = 1_048_576;

const LISTED_MISTAKES = 100;

const PROBLEMS = [
  ...EVERY_CALL,
  ...(['capability_not_permitted', 'body_too_large', 'publication_busy'] as const),
  ...(['fleet_unreadable', 'fleet_invalid', 'version_immutable', 'version_revoked'] as const),
  ...(['capability_immutable', 'replica_immutable', 'revision_not_newer'] as const),
  ...(['evidence_immutable', 'evidence_refused', 'evidence_missing'] as const),
] satisfies readonly ErrorCode[];

const TYPES = ['application/yaml', 'application/json'];

/** Registers the routes on an instance that requires tokens. */
export function fleetPublicationRoutes(
  app: FastifyInstance,
  { log }: HttpDeps,
  admin: AdminDeps,
): void {
  // Bodies of these routes alone are texts, whatever they are said to be.
  app.register((fleets, _options, done) => {
    fleets.removeAllContentTypeParsers();
    fleets.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, parsed) => {
      parsed(null, body);
    });
    diffRoute(fleets, admin);
    applyRoute(fleets, log, admin);
    done();
  });
}

function diffRoute(app: FastifyInstance, admin: AdminDeps): void {
  const { control } = admin.subscriptions;
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/v1/fleet/diff',
    bodyLimit: BODY_LIMIT_BYTES,
    config: { scope: SCOPE, sideEffects: 'read' },
    schema: {
      operationId: 'diffFleet',
      summary: 'What publishing a fleet would change now; nothing is published.',
      tags: ['fleet'],
      security: needs(SCOPE),
      consumes: TYPES,
      body: FleetBody,
      response: { 200: answer('The difference.', FleetDifference), ...problems(PROBLEMS) },
    },
    handler: async (request) => {
      const fleet = await fleetOf(request, admin);
      const { revision, changes } = await told(diffFleet(control, fleet));
      return { revision, differs: changes.length > 0, ...listed(changes) };
    },
  });
}

function applyRoute(app: FastifyInstance, log: Logger, admin: AdminDeps): void {
  const { control } = admin.subscriptions;
  app.withTypeProvider<ZodTypeProvider>().route({
    method: 'POST',
    url: '/v1/fleet/apply',
    bodyLimit: BODY_LIMIT_BYTES,
    config: { scope: SCOPE },
    schema: {
      operationId: 'applyFleet',
      summary:
        'Publishes what differs as one revision, or nothing; the same fleet again is nothing.',
      tags: ['fleet'],
      security: needs(SCOPE),
      consumes: TYPES,
      body: FleetBody,
      response: {
        200: answer('Published, or there already.', PublishedFleet),
        ...problems(PROBLEMS),
      },
    },
    handler: async (request) => {
      const { tenantId, subject } = principalOf(request);
      const fleet = await fleetOf(request, admin);
      const { revision, changed, changes } = await told(publishFleet(control, fleet, subject));
      const about = { tenantId, publishedBy: subject, revision, changes: changes.length };
      log.info(about, changed ? 'fleet published' : 'fleet was there already');
      return { revision, changed, ...listed(changes) };
    },
  });
}

/** @throws WaybillError `capability_not_permitted`, `invalid_request`, `fleet_unreadable` */
async function fleetOf(request: FastifyRequest, { fleets }: AdminDeps): Promise<Fleet> {
  if (isNarrowed(principalOf(request))) {
    const detail = 'A token that is limited to capabilities or side effects publishes no fleet.';
    throw new WaybillError('capability_not_permitted', detail);
  }
  const { body } = request;
  if (!(body instanceof Uint8Array) || body.length === 0) {
    throw new WaybillError('invalid_request', 'The body must be a fleet file.', { field: 'body' });
  }
  return await told(checkedFleet(body, fleets));
}

/** With the mistakes as a list, the first ones of very many. */
async function told<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof FleetInvalid)) throw error;
    const { code, mistakes } = error;
    const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`;
    const [first] = mistakes;
    const where = first === undefined ? '' : `, first in ${first.document} at line ${first.line}`;
    throw new HttpProblem(code, `${count} in the fleet${where}; nothing was applied`, {
      ...(first === undefined || first.field === '' ? {} : { field: first.field }),
      extra: { mistakes: mistakes.slice(0, LISTED_MISTAKES), mistakeCount: mistakes.length },
    });
  }
}

function listed(changes: readonly FleetChange[]) {
  const shown = changes.slice(0, LISTED_CHANGES);
  return {
    changeCount: changes.length,
    changes: shown.map(({ fields, ...change }) => ({ ...change, fields: [...fields] })),
  };
}
