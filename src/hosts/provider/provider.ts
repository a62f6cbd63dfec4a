/**
 * The controlled provider: the product that the reference host acts on, with effects that can be
 * counted. It can be told to stand still between committing an effect and answering, and to refuse
 * effects for a while.
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ReachPoint } from '../kit/points';
import { Ledger, type EffectLedger, type NewEffect } from './ledger';
import { HoldWish, JobWish, LimitWish, TicketWish, type ProviderRecord } from './messages';

export interface ProviderOptions extends ServingOptions {
  /** The SQLite file of its records. */
  readonly file: string;
}

export interface ServingOptions {
  /** Accounts by the bearer token that they are used with. */
  readonly accounts: Readonly<Record<string, string>>;
  readonly listen: { readonly host: string; readonly port: number };
  readonly reach?: ReachPoint;
}

export interface Provider {
  readonly url: string;
  /** For verdicts in the same process. */
  readonly ledger: Ledger;
  stop(): Promise<void>;
}

const BODY_LIMIT_BYTES = 65_536;

/** Starts it; resolves once it listens. */
export async function startProvider(options: ProviderOptions): Promise<Provider> {
  const ledger = new Ledger(options.file);
  return { ...(await serveProvider(ledger, options)), ledger };
}

/** The same over records that are kept elsewhere; `stop` closes them, too. */
export async function serveProvider(
  ledger: EffectLedger,
  options: ServingOptions,
): Promise<Omit<Provider, 'ledger'>> {
  const holds = new Holds();
  const app = fastify({ logger: false, bodyLimit: BODY_LIMIT_BYTES, forceCloseConnections: true });
  app.setErrorHandler(async (error, _request, reply) => {
    await reply.code(error instanceof z.ZodError ? 422 : 500).send({ error: 'refused' });
  });
  const accountOf = (request: FastifyRequest): string => {
    const token = /^bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    return Object.hasOwn(options.accounts, token) ? (options.accounts[token] ?? '') : '';
  };
  app.addHook('onRequest', async (request, reply) => {
    if (!request.url.startsWith('/v1/')) return;
    const account = accountOf(request);
    if (account === '') await reply.code(401).send({ error: 'unauthenticated' });
  });
  const limits = new Limits();
  const create = async (wish: NewEffect, reply: FastifyReply): Promise<void> => {
    const waitS = limits.refuse();
    if (waitS !== null) {
      await reply.code(429).header('retry-after', String(waitS)).send({ error: 'rate_limited' });
      return;
    }
    const created = await ledger.create(wish);
    if (created.kind === 'key_conflict') {
      await reply.code(409).send({ error: 'key_conflict' });
      return;
    }
    await options.reach?.('provider_effect_committed');
    await holds.pass();
    await reply.code(created.kind === 'created' ? 201 : 200).send(created.effect);
  };
  effectRoutes(app, { ledger, accountOf, create });
  controlRoutes(app, ledger, holds);
  app.put('/control/limits', (request) => {
    limits.limit(LimitWish.parse(request.body));
    return {};
  });
  await app.listen(options.listen);
  const { port, address } = app.server.address() as AddressInfo;
  return {
    url: `http://${address}:${port}`,
    stop: async () => {
      holds.release();
      await app.close();
      await ledger.close();
    },
  };
}

interface RouteDeps {
  readonly ledger: EffectLedger;
  readonly accountOf: (request: FastifyRequest) => string;
  readonly create: (wish: NewEffect, reply: FastifyReply) => Promise<void>;
}

const Params = z.object({ id: z.string() });
const ByReference = z.object({ reference: z.string() });
const After = z.object({ after: z.coerce.number().int().min(0).default(0) });

function effectRoutes(app: FastifyInstance, { ledger, accountOf, create }: RouteDeps): void {
  const idempotencyKey = ({ headers }: FastifyRequest): string | null => {
    const key = headers['idempotency-key'];
    return typeof key === 'string' && key !== '' ? key : null;
  };
  app.post('/v1/tickets', async (request, reply) => {
    const wish = TicketWish.parse(request.body);
    const common = { account: accountOf(request), idempotencyKey: idempotencyKey(request) };
    await create({ kind: 'ticket', durationMs: 0, ...wish, ...common }, reply);
  });
  app.post('/v1/jobs', async (request, reply) => {
    const wish = JobWish.parse(request.body);
    const common = { account: accountOf(request), idempotencyKey: idempotencyKey(request) };
    await create({ kind: 'job', approval: null, ...wish, ...common }, reply);
  });
  app.get('/v1/effects', async (request) => {
    const { reference } = ByReference.parse(request.query);
    return { effects: await ledger.findByReference(accountOf(request), reference) };
  });
  app.get('/v1/effects/:id', async (request, reply) => {
    const effect = await ledger.find(accountOf(request), Params.parse(request.params).id);
    await reply.code(effect === null ? 404 : 200).send(effect ?? { error: 'not_found' });
  });
  app.post('/v1/effects/:id/cancel', async (request, reply) => {
    const effect = await ledger.cancel(accountOf(request), Params.parse(request.params).id);
    await reply.code(effect === null ? 404 : 200).send(effect ?? { error: 'not_found' });
  });
  app.get('/v1/records/:id', async (request, reply) => {
    const { id: recordId } = Params.parse(request.params);
    const account = accountOf(request);
    const record = recordOf(recordId);
    // The same answer for a foreign record and for none.
    const own = record?.account === account;
    await ledger.noteRead?.({ account, recordId, disclosed: own });
    await reply.code(own ? 200 : 404).send(own ? record : { error: 'not_found' });
  });
}

/** For tests and qualification: no account, loopback. */
function controlRoutes(app: FastifyInstance, ledger: EffectLedger, holds: Holds): void {
  app.get('/ready', () => ({ ready: true }));
  app.get('/control/audit', async (request) => {
    return { entries: await ledger.audit(After.parse(request.query).after) };
  });
  app.get('/control/holds', () => holds.state);
  app.put('/control/holds', (request) => {
    holds.hold(HoldWish.parse(request.body).count);
    return holds.state;
  });
  app.delete('/control/holds', () => {
    holds.release();
    return holds.state;
  });
}

/** `{account}.{anything}`: who owns a record is in its id, and its value follows from it. */
function recordOf(id: string): ProviderRecord | null {
  const account = /^([a-z0-9-]+)\.[a-z0-9-]+$/.exec(id)?.[1];
  if (account === undefined) return null;
  return { id, account, value: createHash('sha256').update(id).digest('hex') };
}

/** Requests that stand still until they are released. */
class Holds {
  #left = 0;
  readonly #waiting: (() => void)[] = [];

  get state(): { readonly left: number; readonly held: number } {
    return { left: this.#left, held: this.#waiting.length };
  }

  hold(count: number): void {
    this.#left = count;
  }

  async pass(): Promise<void> {
    if (this.#left === 0) return;
    this.#left -= 1;
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  release(): void {
    this.#left = 0;
    for (const go of this.#waiting.splice(0)) go();
  }
}

/** Effects that are refused before they are there. */
class Limits {
  #next: LimitWish = { count: 0, retryAfterS: 0 };

  limit(next: LimitWish): void {
    this.#next = next;
  }

  /** For how long the next one has to wait; null: it is let through. */
  refuse(): number | null {
    const { count, retryAfterS } = this.#next;
    if (count === 0) return null;
    this.#next = { count: count - 1, retryAfterS };
    return retryAfterS;
  }
}
