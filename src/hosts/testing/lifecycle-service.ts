/**
 * Waybill's side of the lifecycle for one replica, in memory: sequences, repeated requests, incarnations.
 * A test makes it lose answers, end a lease, refuse.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { LIFECYCLE_OPERATIONS, type LifecycleClaims } from '../../domain/host-protocol';
import { LIFECYCLE_AUDIENCE, verifyLifecycleCall } from '../protocol/lifecycle-calls';
import type { LifecycleReply, TokenTrust } from '../../schemas/host-messages';

export class LifecycleService {
  readonly calls: LifecycleClaims[] = [];
  /** How many of the next calls are taken and not answered. */
  losing = 0;
  /** The lease ran out: only registering is accepted. */
  expired = false;
  /** The catalog has no such replica. */
  unknown = false;
  /** Attempts that are still open: it is not drained before there is none. */
  open = 0;
  /** What every call is refused with, where it is set. */
  problem: { readonly status: number; readonly code: string; readonly detail: string } | null =
    null;
  status: 'registered' | 'ready' | 'draining' | 'drained' | 'offline' = 'offline';
  sequence = 0;
  incarnation = 0;
  trust: TokenTrust;
  did: string;
  readonly #answers = new Map<string, LifecycleReply>();
  readonly #server: Server;
  readonly #waiting = new Set<() => void>();

  constructor(did: string, trust: TokenTrust) {
    this.did = did;
    this.trust = trust;
    this.#server = createServer((request, response) => {
      void this.#take(request, response);
    });
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** Resolves when a call for which this holds has come. */
  async saw(matches: (call: LifecycleClaims) => boolean): Promise<LifecycleClaims> {
    for (;;) {
      const found = this.calls.find(matches);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, , , replicaId = '', path = ''] = (request.url ?? '').split('/');
    const operation = LIFECYCLE_OPERATIONS.find((name) => name === path) ?? 'register';
    const verified = await verifyLifecycleCall(await text(request), {
      replicaId,
      operation,
      peerDid: this.did,
      audience: LIFECYCLE_AUDIENCE,
      nowMs: Date.now(),
    });
    if (verified.kind === 'refused') {
      response.writeHead(401).end(JSON.stringify(verified));
      return;
    }
    this.calls.push(verified.claims);
    if (this.problem !== null) {
      response.writeHead(this.problem.status).end(JSON.stringify(this.problem));
      return;
    }
    const reply = this.#answer(verified.claims);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    if (this.losing > 0) {
      this.losing -= 1;
      request.socket.destroy();
      return;
    }
    response.writeHead(reply.kind === 'accepted' ? 200 : 409).end(JSON.stringify(reply));
  }

  #answer(claims: LifecycleClaims): LifecycleReply {
    const known = this.#answers.get(claims.request_id);
    if (known !== undefined) return known;
    if (this.unknown) return { kind: 'unknown_replica' };
    if (claims.previous_sequence !== this.sequence) {
      return { kind: 'stale_sequence', sequence: this.sequence };
    }
    if (this.expired && claims.operation !== 'register') {
      return { kind: 'must_register', sequence: this.sequence };
    }
    this.sequence += 1;
    if (claims.operation === 'register') this.incarnation += 1;
    this.expired = false;
    this.status = this.#next(claims);
    const reply: LifecycleReply = {
      kind: 'accepted',
      sequence: this.sequence,
      incarnation: this.incarnation,
      status: this.status,
      leaseMs: 30_000,
      trust: this.trust,
    };
    this.#answers.set(claims.request_id, reply);
    return reply;
  }

  #next({ operation }: LifecycleClaims): LifecycleService['status'] {
    switch (operation) {
      case 'register':
        return 'registered';
      case 'heartbeat':
        if (this.status !== 'draining') return this.status === 'registered' ? 'ready' : this.status;
        return this.open === 0 ? 'drained' : 'draining';
      case 'drain':
        return 'draining';
      case 'offline':
        return 'offline';
    }
  }
}
