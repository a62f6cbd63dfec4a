/** Receipts of a tenant: one chain, also of what is gone, or all of them. The tenant is the token's. */
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { readChain } from '../db/receipt-lists';
import { WaybillError } from '../domain/errors';
import { ChainParams, ReceiptChain } from '../schemas/api-receipts';
import { principalOf } from './authorization';
import type { HttpDeps } from './deps';
import { answer, EVERY_CALL, needs, problems } from './openapi';

const READ = 'factory.receipts.read';
const LINES = 'application/x-ndjson';

/** Registers the routes on an instance that requires tokens. */
export function receiptRoutes(app: FastifyInstance, deps: HttpDeps): void {
  const typed = app.withTypeProvider<ZodTypeProvider>();
  typed.route({
    method: 'GET',
    url: '/v1/receipts/:about/:id',
    config: { scope: READ },
    schema: {
      operationId: 'showReceipts',
      summary: 'The receipts of one delivery or action, also when it is gone.',
      tags: ['receipts'],
      security: needs(READ),
      params: ChainParams,
      response: {
        200: answer('The whole chain.', ReceiptChain),
        ...problems([...EVERY_CALL, 'not_found']),
      },
    },
    handler: (request) => show(deps, request, request.params),
  });
  typed.route({
    method: 'GET',
    url: '/v1/receipts/export',
    config: { scope: READ },
    schema: {
      operationId: 'exportReceipts',
      summary: 'Every chain and checkpoint of the tenant, for `waybill receipt verify`.',
      tags: ['receipts'],
      security: needs(READ),
      response: {
        200: {
          description: 'A JSON object a line; the last one is the signed statement.',
          content: { [LINES]: { schema: z.string() } },
        },
        ...problems(EVERY_CALL),
      },
    },
    handler: async (request, reply) => {
      const lines = deps.exportReceipts(principalOf(request).tenantId);
      return reply.type(LINES).send(Readable.from(lines) as unknown as string);
    },
  });
}

async function show(
  deps: HttpDeps,
  request: FastifyRequest,
  { about, id }: z.output<typeof ChainParams>,
): Promise<ReceiptChain> {
  const subject = `${about}/${id}`;
  const receipts = await readChain(deps.data, principalOf(request).tenantId, subject);
  if (receipts.length === 0) throw new WaybillError('not_found');
  return { subject, receipts };
}
