/**
 * The reference connector: one capability for each way of clearing up an unknown outcome, a read, and
 * slow work that can be cancelled, and one that needs an approval.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { FinalOutcome, ManifestCapability } from '../../domain/host-protocol';
import { capability, type Capability, type Recovery, type WorkContext } from '../kit/connector';
import { ProviderRefusal, type ProviderClient } from '../provider/client';
import type { Effect } from '../provider/ledger';

const Ticket = z.strictObject({ title: z.string().min(1).max(500) });
const TicketRead = z.strictObject({ recordId: z.string().min(1).max(200) });
const Report = z.strictObject({
  title: z.string().min(1).max(500),
  durationMs: z.int().min(0).max(600_000),
});
const TicketResult = z.object({ ticketId: z.string(), reference: z.string().nullable() });
const RecordResult = z.object({ recordId: z.string(), value: z.string() });
const ReportResult = z.object({ reportId: z.string() });

const POLL_MS = 50;

export interface ReferenceOptions {
  readonly provider: ProviderClient;
  /** After that a request of a lost try is no longer under way, so a missing effect is proof. */
  readonly settlesAfterMs: number;
  /** How long an answer may take. */
  readonly timeoutMs: number;
}

/** The capabilities by id. */
export function referenceCapabilities(options: ReferenceOptions): Record<string, Capability> {
  return {
    'tickets.create': createWithLookup(options),
    'tickets.create_keyed': createTicket(options, 'provider_key'),
    'tickets.create_blind': createTicket(options, 'none'),
    'tickets.publish': publishTicket(options),
    'tickets.read': readRecord(options),
    'reports.build': buildReport(options),
  };
}

/** For the world to see: it needs an approval, which the provider is told. */
function publishTicket(options: ReferenceOptions): Capability {
  return createWithLookup(options, 'external');
}

function createWithLookup(
  options: ReferenceOptions,
  sideEffect: 'shared-write' | 'external' = 'shared-write',
): Capability {
  const { provider } = options;
  const schemas = { recovery: 'lookup', request: Ticket, result: TicketResult } as const;
  return capability({
    contract: { ...contractOf(options, schemas), sideEffect },
    parse: (body) => Ticket.parse(body),
    execute: ({ action, approval }, { title }) =>
      definite(async () =>
        ticket(await provider.create('tickets', { title, reference: action, approval }, null)),
      ),
    recover: async ({ action, startedAgoMs }) => {
      const [found] = await provider.findByReference(action);
      return found === undefined ? absent(options, startedAgoMs) : ticket(found);
    },
  });
}

function createTicket(options: ReferenceOptions, recovery: 'provider_key' | 'none'): Capability {
  return capability({
    contract: contractOf(options, { recovery, request: Ticket, result: TicketResult }),
    parse: (body) => Ticket.parse(body),
    execute: ({ action, idempotencyKey }, { title }) =>
      definite(async () => {
        const key = recovery === 'provider_key' ? idempotencyKey : null;
        return ticket(await options.provider.create('tickets', { title, reference: action }, key));
      }),
  });
}

function readRecord(options: ReferenceOptions): Capability {
  const schemas = { recovery: 'none', request: TicketRead, result: RecordResult } as const;
  return capability({
    contract: { ...contractOf(options, schemas), sideEffect: 'read' },
    parse: (body) => TicketRead.parse(body),
    execute: (_context, { recordId }) =>
      definite(async () => {
        const { id, value } = await options.provider.record(recordId);
        return { kind: 'succeeded', result: { recordId: id, value } };
      }),
  });
}

function buildReport(options: ReferenceOptions): Capability {
  const { provider } = options;
  return capability({
    contract: contractOf(options, { recovery: 'lookup', request: Report, result: ReportResult }),
    parse: (body) => Report.parse(body),
    execute: (context, request) =>
      definite(async () => {
        const work = { ...request, reference: context.action };
        return await finishReport(options, await provider.create('jobs', work, null), context);
      }),
    recover: async (context) => {
      const [found] = await provider.findByReference(context.action);
      if (found === undefined) return absent(options, context.startedAgoMs);
      return await finishReport(options, found, context);
    },
    cancel: async ({ action }) => {
      const found = await provider.findByReference(action);
      await Promise.all(found.map(({ id }) => provider.cancel(id)));
    },
  });
}

/** Watches the job to its end; a cancelled one ends, too. */
async function finishReport(
  { provider }: ReferenceOptions,
  job: Effect,
  context: WorkContext,
): Promise<FinalOutcome> {
  for (let current = job; ; current = await provider.effect(job.id)) {
    if (current.status === 'done') return { kind: 'succeeded', result: { reportId: job.id } };
    if (current.status === 'cancelled') return { kind: 'cancelled' };
    context.progress(`report ${job.id} is being built`);
    // Asked again: a cancel may have come before the job was there to be found.
    if (context.signal.aborted) await provider.cancel(job.id);
    await delay(POLL_MS);
  }
}

/** No effect to be seen: proof only once nothing can be under way any more. */
function absent({ settlesAfterMs }: ReferenceOptions, startedAgoMs: number): Recovery {
  return startedAgoMs >= settlesAfterMs ? { kind: 'not_started' } : { kind: 'unknown' };
}

/** A refusal by the provider is final; whatever else is thrown leaves the outcome open. */
async function definite(work: () => Promise<FinalOutcome>): Promise<FinalOutcome> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderRefusal) || error.status === 429) throw error;
    const errorCode = error.status === 404 ? 'record_not_found' : 'provider_refused';
    return { kind: 'failed', errorCode, detail: error.message };
  }
}

function ticket({ id, reference }: Effect): FinalOutcome {
  return { kind: 'succeeded', result: { ticketId: id, reference } };
}

function contractOf(
  { timeoutMs }: ReferenceOptions,
  schemas: {
    readonly recovery: ManifestCapability['recovery'];
    readonly request: z.ZodType;
    readonly result: z.ZodType;
  },
): Omit<ManifestCapability, 'capabilityId'> {
  return {
    interfaceName: 'work-items',
    sideEffect: 'shared-write',
    recovery: schemas.recovery,
    requestSchema: z.toJSONSchema(schemas.request),
    resultSchema: z.toJSONSchema(schemas.result),
    timeoutMs,
  };
}
