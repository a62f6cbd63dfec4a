/**
 * A lifecycle service for one host (docs/host-protocol, "Lifecycle"): what an author's host registers
 * with where there is no Waybill. It keeps nothing, and notes what is wrong with the calls.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LIFECYCLE_OPERATIONS, type LifecycleClaims } from '../domain/host-protocol';
import type { ReplicaStatus } from '../domain/registry-ports';
import { verifyLifecycleCall, type LifecycleRefusal } from '../hosts/protocol/lifecycle-calls';
import { LIFECYCLE_LIMIT_BYTES } from '../hosts/protocol/limits';
import { readCapped } from '../hosts/protocol/read-capped';
import type { LifecycleReply, TokenTrust } from '../schemas/host-messages';
import { jsonOf } from '../schemas/json-bytes';
import type { ConformanceLifecycle, ConformanceStop } from './subject';

export interface LifecycleServiceOptions {
  readonly listen: { readonly host: string; readonly port: number };
  readonly audience: string;
  readonly trust: TokenTrust;
  /** The host that is meant; null: whichever registers first. */
  readonly did: string | null;
  /** Asks the host's process to end; null: it is not ours to stop. */
  readonly terminate: (() => void) | null;
  readonly nowMs: () => number;
}

export interface Registration {
  readonly replicaId: string;
  readonly did: string;
  readonly manifestDigest: string;
  readonly storeEpoch: string;
  readonly incarnation: number;
}

const LEASE_MS = 30_000;
const KEPT_ANSWERS = 20;
const CALL = /^\/v1\/hosts\/([^/]+)\/([a-z]+)$/;

const REFUSALS: Readonly<Record<LifecycleRefusal, string>> = {
  wrong_signature: 'a call is not a lifecycle call that is signed by the key of its iss',
  wrong_call: 'iss, sub, aud or operation of a call are not those of the host and the path',
  expired: 'iat and exp of a call are more than 60 s apart, or not of now',
};

export class LifecycleService implements ConformanceLifecycle {
  readonly #options: LifecycleServiceOptions;
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();
  readonly #answers = new Map<string, LifecycleReply>();
  readonly #calls: LifecycleClaims[] = [];
  readonly #problems: string[] = [];
  #host: Registration | null = null;
  #sequence = 0;
  #incarnation = 0;
  #draining = false;
  /** What is open was looked at: a draining host may be told that it is drained. */
  #released = false;

  private constructor(options: LifecycleServiceOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#take(request, response).catch(() => response.destroy());
    });
  }

  static async listen(options: LifecycleServiceOptions): Promise<LifecycleService> {
    const service = new LifecycleService(options);
    const { host, port } = options.listen;
    await new Promise<void>((resolve, reject) => {
      service.#server.once('error', reject).listen(port, host, resolve);
    });
    return service;
  }

  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  get registered(): string | null {
    return this.#problems[0] ?? null;
  }

  /** The last one; null: none within the time. */
  async registration(withinMs: number): Promise<Registration | null> {
    await this.#until(() => this.#host !== null, withinMs);
    return this.#host;
  }

  async heartbeat(withinMs: number): Promise<string | null> {
    const came = await this.#until(() => this.#has('heartbeat'), withinMs);
    return this.registered ?? (came ? null : `no heartbeat came within ${withinMs} ms`);
  }

  get stop(): ConformanceStop | null {
    const { terminate } = this.#options;
    if (terminate === null) return null;
    return {
      begin: async (withinMs) => {
        terminate();
        await this.#until(() => this.#has('drain') || this.#has('offline'), withinMs);
        return this.#has('drain') ? null : 'it was asked to end, and did not say that it drains';
      },
      finish: async (withinMs) => {
        this.#released = true;
        const came = await this.#until(() => this.#has('offline'), withinMs);
        return came ? null : `it did not say within ${withinMs} ms that it is offline`;
      },
    };
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, body } = await this.#answer(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    for (const wake of this.#waiting) wake();
  }

  async #answer(
    request: IncomingMessage,
  ): Promise<{ readonly status: number; readonly body: object }> {
    const [, replica = '', name = ''] = CALL.exec(request.url ?? '') ?? [];
    const operation = LIFECYCLE_OPERATIONS.find((known) => known === name);
    const bytes = await readCapped(request, LIFECYCLE_LIMIT_BYTES);
    if (operation === undefined || request.method !== 'POST') {
      return this.#refuse(404, `${request.method ?? ''} ${request.url ?? ''} is no lifecycle call`);
    }
    if (bytes === null) return this.#refuse(413, 'a lifecycle call has more than 16 KiB');
    const jws = bytes.toString('latin1');
    const did = this.#host?.did ?? this.#options.did ?? issuerOf(jws);
    const verified = await verifyLifecycleCall(jws, {
      ...{ replicaId: decodeURIComponent(replica), operation, peerDid: did },
      ...{ audience: this.#options.audience, nowMs: this.#options.nowMs() },
    });
    if (verified.kind === 'refused') return this.#refuse(401, REFUSALS[verified.reason]);
    const reply = this.#judge(verified.claims);
    return { status: reply.kind === 'accepted' ? 200 : 409, body: reply };
  }

  #refuse(status: number, problem: string): { status: number; body: object } {
    this.#problems.push(problem);
    const code = status === 404 ? 'not_found' : 'host_call_refused';
    return { status, body: { code, detail: problem } };
  }

  #judge(claims: LifecycleClaims): LifecycleReply {
    const known = this.#answers.get(claims.request_id);
    if (known !== undefined) return known;
    if (claims.previous_sequence !== this.#sequence) {
      // A new process cannot know the sequence; afterwards it has to.
      if (claims.operation !== 'register') {
        this.#problems.push(
          `previous_sequence of a ${claims.operation} is not that of the call before`,
        );
      }
      return { kind: 'stale_sequence', sequence: this.#sequence };
    }
    this.#sequence += 1;
    this.#calls.push(claims);
    const reply = this.#accept(claims);
    this.#answers.set(claims.request_id, reply);
    for (const [oldest] of [...this.#answers].slice(0, -KEPT_ANSWERS)) this.#answers.delete(oldest);
    return reply;
  }

  #accept(claims: LifecycleClaims): LifecycleReply {
    const { operation } = claims;
    if (operation === 'register') {
      this.#incarnation += 1;
      this.#draining = false;
      this.#host = {
        ...{ replicaId: claims.sub, did: claims.iss, manifestDigest: claims.manifest_digest },
        ...{ storeEpoch: claims.store_epoch, incarnation: this.#incarnation },
      };
    }
    if (operation === 'drain') this.#draining = true;
    const reply = {
      ...({ kind: 'accepted', sequence: this.#sequence, incarnation: this.#incarnation } as const),
      ...{ status: this.#statusAfter(claims), leaseMs: operation === 'offline' ? 0 : LEASE_MS },
    };
    const told = operation === 'register' || operation === 'heartbeat';
    return told ? { ...reply, trust: this.#options.trust } : reply;
  }

  #statusAfter({ operation }: LifecycleClaims): ReplicaStatus {
    if (operation === 'register') return 'registered';
    if (operation === 'offline') return 'offline';
    if (!this.#draining) return 'ready';
    return this.#released && operation === 'heartbeat' ? 'drained' : 'draining';
  }

  #has(operation: LifecycleClaims['operation']): boolean {
    return this.#calls.some((call) => call.operation === operation);
  }

  /** False: it did not come so within the time. */
  async #until(holds: () => boolean, withinMs: number): Promise<boolean> {
    const deadline = AbortSignal.timeout(withinMs);
    while (!holds()) {
      if (deadline.aborted) return false;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          deadline.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiting.add(wake);
        deadline.addEventListener('abort', wake, { once: true });
      });
    }
    return true;
  }
}

/** Whom a call says it is from; its signature is judged by that key afterwards. */
function issuerOf(jws: string): string {
  const payload = jsonOf(Buffer.from(jws.split('.')[1] ?? '', 'base64url'));
  const named = typeof payload === 'object' && payload !== null && 'iss' in payload;
  return named && typeof payload.iss === 'string' ? payload.iss : '';
}
