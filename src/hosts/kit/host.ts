/**
 * The host kit: a connector's capabilities become a host that speaks the whole protocol
 * (docs/host-protocol, "The host kit").
 */
import { setTimeout as delay } from 'node:timers/promises';
import fastify, { type FastifyInstance } from 'fastify';
import type { TokenPurpose } from '../../domain/host-protocol';
import type { TokenTrust } from '../../schemas/host-messages';
import type { SigningKey } from '../../signing/keys';
import { didOfKey } from '../../signing/did-key';
import { closePromptly } from '../prompt-closing';
import { JOSE_TYPE, REQUEST_LIMIT_BYTES } from '../protocol/limits';
import { Actions } from './actions';
import type { HostIdentity, HostSelf } from './checks';
import type { Capability } from './connector';
import { Lifecycle, type LifecycleOptions } from './lifecycle';
import { manifestOf } from './manifest';
import type { ReachPoint } from './points';
import { serveCall, type ServingDeps } from './serving';
import type { HostStore } from './store';

export interface HostOptions {
  readonly identity: HostIdentity;
  readonly key: SigningKey;
  /** Closed by `stop`. */
  readonly store: HostStore;
  readonly capabilities: Readonly<Record<string, Capability>>;
  /** Registers with Waybill, or is told what registering would tell it. */
  readonly registration:
    LifecycleOptions | { readonly incarnation: number; readonly trust: TokenTrust };
  /** Where it listens; port 0: any free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** How long `stop` waits for what is under way; default 25 000. */
  readonly graceMs?: number;
  /** How long finished actions are remembered: longer than Waybill may ask. Default 90 days. */
  readonly retentionMs?: number;
  readonly nowMs?: () => number;
  readonly reach?: ReachPoint;
  /** What a connector, the store or the lifecycle service threw. */
  readonly failed?: (error: unknown) => void;
}

export interface Host {
  readonly url: string;
  readonly did: string;
  readonly manifestDigest: string;
  readonly storeEpoch: string;
  /**
   * Aborted, with a `WaybillError` as its reason, when another process has taken its place or Waybill
   * does not know it any more: it serves nothing any more.
   */
  readonly superseded: AbortSignal;
  /** Takes no new work by Waybill's choice; pinned retries, cancels and questions are served. */
  drain(): Promise<void>;
  /**
   * An orderly end: drains until Waybill says that nothing is open here any more, or for `withinMs`,
   * then stops.
   */
  retire(withinMs: number): Promise<void>;
  /** Refuses what has not begun, waits for the rest, says goodbye and closes. */
  stop(): Promise<void>;
}

const DEFAULT_GRACE_MS = 25_000;
const DEFAULT_RETENTION_MS = 90 * 24 * 3_600_000;
const PRUNE_EVERY_MS = 600_000;
const PRUNE_LIMIT = 5_000;
const OFFLINE_MS = 3_000;

/** Starts a host: it listens when this resolves, and is registered where it registers at all. */
export async function createHost(options: HostOptions): Promise<Host> {
  const running = new RunningHost(options);
  await running.start();
  return running;
}

class RunningHost implements Host {
  readonly did: string;
  readonly manifestDigest: string;
  readonly storeEpoch: string;
  readonly #options: HostOptions;
  readonly #actions: Actions;
  readonly #app: FastifyInstance;
  readonly #lifecycle: Lifecycle | null;
  readonly #nowMs: () => number;
  readonly #failed: (error: unknown) => void;
  #phase: 'serving' | 'draining' | 'superseded' | 'stopping' = 'serving';
  #incarnation: number | null = null;
  #trust: TokenTrust | null = null;
  #pruning: NodeJS.Timeout | undefined;
  readonly #superseded = new AbortController();

  constructor(options: HostOptions) {
    const { identity, key, store, capabilities, registration } = options;
    this.#options = options;
    this.#nowMs = options.nowMs ?? Date.now;
    this.#failed = options.failed ?? (() => undefined);
    const manifest = manifestOf(identity, capabilities);
    this.did = didOfKey(key.publicJwk.x);
    this.manifestDigest = manifest.digest;
    this.storeEpoch = store.epoch;
    const reach = options.reach ?? (() => Promise.resolve());
    const deps = { store, capabilities, reach, nowMs: this.#nowMs, failed: this.#failed };
    this.#actions = new Actions(deps);
    this.#lifecycle = 'url' in registration ? this.#lifecycleOf(registration) : null;
    if ('trust' in registration) this.#believe(registration.incarnation, registration.trust);
    this.#app = this.#serve(manifest.text);
  }

  get url(): string {
    const address = this.#app.server.address();
    if (address === null || typeof address === 'string')
      throw new Error('the host does not listen');
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `http://${host}:${address.port}`;
  }

  async start(): Promise<void> {
    const { host, port } = this.#options.listen;
    await this.#prune();
    await this.#app.listen({ host, port });
    this.#pruning = setInterval(() => {
      this.#prune().catch(this.#failed);
    }, PRUNE_EVERY_MS).unref();
    await this.#lifecycle?.register().catch(async (error: unknown) => {
      await this.#app.close();
      throw error;
    });
  }

  async drain(): Promise<void> {
    this.#phase = 'draining';
    await this.#lifecycle?.drain();
  }

  get superseded(): AbortSignal {
    return this.#superseded.signal;
  }

  async retire(withinMs: number): Promise<void> {
    // Waybill may be away: then it is told by the lease that runs out.
    const draining = this.drain().catch(this.#failed);
    if (this.#lifecycle !== null) await aborted(this.#lifecycle.drained, withinMs);
    else await draining;
    await this.stop();
  }

  async stop(): Promise<void> {
    this.#phase = 'stopping';
    clearInterval(this.#pruning);
    await this.#actions.drained(this.#options.graceMs ?? DEFAULT_GRACE_MS);
    await this.#lifecycle?.offline(OFFLINE_MS);
    await this.#app.close();
    await this.#options.store.close();
  }

  #self(): HostSelf {
    return {
      ...this.#options.identity,
      did: this.did,
      manifestDigest: this.manifestDigest,
      storeEpoch: this.storeEpoch,
      incarnation: this.#incarnation,
      trust: this.#trust,
    };
  }

  #believe(incarnation: number, trust: TokenTrust | null): void {
    this.#incarnation = incarnation;
    this.#trust = trust ?? this.#trust;
  }

  #lifecycleOf(options: LifecycleOptions): Lifecycle {
    const { identity, key, store } = this.#options;
    return new Lifecycle(options, {
      key,
      store,
      did: this.did,
      replicaId: identity.replicaId,
      manifestDigest: this.manifestDigest,
      nowMs: this.#nowMs,
      inFlight: () => this.#actions.inFlight,
      healthy: () => this.#phase === 'serving' || this.#phase === 'draining',
      believe: (incarnation, trust) => {
        this.#believe(incarnation, trust);
      },
      superseded: (why) => {
        this.#phase = 'superseded';
        this.#superseded.abort(why);
        this.#failed(why);
      },
      failed: (error) => {
        this.#failed(error);
        return undefined;
      },
    });
  }

  #serve(manifest: string): FastifyInstance {
    const deps: ServingDeps = {
      actions: this.#actions,
      capabilities: this.#options.capabilities,
      key: this.#options.key,
      self: () => this.#self(),
      isStopping: () => this.#phase === 'stopping',
      nowMs: this.#nowMs,
    };
    const app = serverFor(deps, this.#failed);
    app.addHook('onRequest', async (_request, reply) => {
      // Its memory may not be that of the process that took over: it has nothing to say any more.
      if (this.#phase === 'superseded') await reply.code(503).send({ error: 'superseded' });
    });
    app.get('/v1/manifest', async (_request, reply) => {
      await reply.type('application/json; charset=utf-8').send(manifest);
    });
    app.get('/health', () => ({ status: 'alive' }));
    app.get('/ready', async (_request, reply) => {
      const reason = this.#reasonNotReady();
      await reply.code(reason === null ? 200 : 503).send({ ready: reason === null, reason });
    });
    return app;
  }

  #reasonNotReady(): string | null {
    if (this.#trust === null) return 'not registered yet';
    return this.#phase === 'serving' ? null : this.#phase;
  }

  async #prune(): Promise<void> {
    const nowMs = this.#nowMs();
    const { store, retentionMs = DEFAULT_RETENTION_MS } = this.#options;
    await store.prune({ nowMs, changedBeforeMs: nowMs - retentionMs, limit: PRUNE_LIMIT });
  }
}

/** Resolves when the signal is aborted, or after `withinMs`. */
async function aborted(signal: AbortSignal, withinMs: number): Promise<void> {
  if (signal.aborted) return;
  await delay(withinMs, undefined, { signal }).catch(() => undefined);
}

const ROUTES: readonly { method: 'PUT' | 'POST' | 'GET'; path: string; purpose: TokenPurpose }[] = [
  { method: 'PUT', path: '/v1/actions/:action', purpose: 'execute' },
  { method: 'POST', path: '/v1/actions/:action/reconcile', purpose: 'reconcile' },
  { method: 'POST', path: '/v1/actions/:action/cancel', purpose: 'cancel' },
  { method: 'GET', path: '/v1/actions/:action', purpose: 'read' },
];

function serverFor(deps: ServingDeps, failed: (error: unknown) => void): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: REQUEST_LIMIT_BYTES,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 300 },
  });
  closePromptly(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  app.setErrorHandler(async (error, _request, reply) => {
    const status = statusOf(error);
    if (status >= 500) failed(error);
    // Unsigned: nobody may take it for the host's word on the action.
    await reply.code(status).send({ error: status >= 500 ? 'internal' : 'unreadable' });
  });
  for (const { method, path, purpose } of ROUTES) {
    app.route<{ Params: { action: string } }>({
      method,
      url: path,
      handler: async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const { action } = request.params;
        const { authorization = '' } = request.headers;
        const answer = await serveCall({ purpose, action, authorization, body }, deps);
        await reply.code(answer.status).type(JOSE_TYPE).send(answer.jws);
      },
    });
  }
  return app;
}

function statusOf(error: unknown): number {
  const known = typeof error === 'object' && error !== null && 'statusCode' in error;
  return known && typeof error.statusCode === 'number' ? error.statusCode : 500;
}
