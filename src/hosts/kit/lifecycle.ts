/**
 * Tells Waybill that this host is there: registers, renews its lease with every heartbeat, drains,
 * goes offline. A call whose answer was lost is repeated under the same request id.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import type { LifecycleOperation } from '../../domain/host-protocol';
import { LifecycleReply, type TokenTrust } from '../../schemas/host-messages';
import type { SigningKey } from '../../signing/keys';
import {
  LIFECYCLE_AUDIENCE,
  LIFECYCLE_CALL_LIFE_S,
  signLifecycleCall,
} from '../protocol/lifecycle-calls';
import { JOSE_TYPE, LIFECYCLE_LIMIT_BYTES } from '../protocol/limits';
import { readCapped } from '../protocol/read-capped';
import type { HostStore } from './store';

export interface LifecycleOptions {
  /** Of Waybill's lifecycle service, without a path. */
  readonly url: string;
  /** Default `urn:waybill:lifecycle`. */
  readonly audience?: string;
  /** Default 10 000; each pause is up to a fifth shorter or longer. */
  readonly heartbeatMs?: number;
  /** Default 1 000: the pause after a call that was not answered. */
  readonly retryMs?: number;
}

export interface LifecycleDeps {
  readonly key: SigningKey;
  readonly did: string;
  readonly replicaId: string;
  readonly manifestDigest: string;
  readonly store: HostStore;
  readonly nowMs: () => number;
  readonly inFlight: () => number;
  readonly healthy: () => boolean;
  /** Registered, or new keys came. */
  readonly believe: (incarnation: number, trust: TokenTrust | null) => void;
  /** Another process has registered as this replica since: this one must not work any more. */
  readonly superseded: () => void;
  readonly failed: (error: unknown) => undefined;
}

const CALL_TIMEOUT_MS = 5_000;
const JITTER = 0.2;

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #deps: LifecycleDeps;
  /** Ends the pauses; a call under way goes on, so that its sequence is known. */
  readonly #stop = new AbortController();
  readonly #giveUp = new AbortController();
  #beating: Promise<void> = Promise.resolve();
  /** One call after the other: each names the sequence of the one before. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: LifecycleOptions, deps: LifecycleDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Resolves once registered, however long that takes; rejects for a replica that Waybill has not. */
  async register(): Promise<void> {
    let reply = await this.#call('register');
    // A new process, perhaps with a new store, cannot know what its predecessor said last.
    if (reply.kind === 'stale_sequence') {
      await this.#deps.store.rememberLifecycleSequence(reply.sequence);
      reply = await this.#call('register');
    }
    if (reply.kind !== 'accepted') throw new Error(`Waybill did not register it: ${reply.kind}`);
    this.#beating = this.#beat();
  }

  /** No new work; what is pinned here still comes. */
  async drain(): Promise<void> {
    await this.#call('drain');
  }

  /** Says goodbye, within `withinMs`; Waybill notices by itself when it does not get there. */
  async offline(withinMs: number): Promise<void> {
    const late = setTimeout(() => {
      this.#giveUp.abort();
    }, withinMs);
    this.#stop.abort();
    await this.#beating;
    await this.#call('offline').catch(this.#deps.failed);
    clearTimeout(late);
  }

  async #beat(): Promise<void> {
    const { heartbeatMs = 10_000 } = this.#options;
    for (;;) {
      const pauseMs = heartbeatMs * (1 - JITTER + 2 * JITTER * Math.random());
      await delay(pauseMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (this.#stop.signal.aborted) return;
      const reply = await this.#call('heartbeat').catch(this.#deps.failed);
      // Nothing: given up, because the host stops.
      if (reply === undefined) return;
      if (reply.kind !== 'accepted') {
        this.#deps.superseded();
        return;
      }
    }
  }

  async #call(operation: LifecycleOperation): Promise<LifecycleReply> {
    const call = (): Promise<LifecycleReply> => this.#untilAnswered(operation);
    const reply = this.#line.then(call, call);
    this.#line = reply;
    return await reply;
  }

  /** Repeats the call until it is answered or given up. */
  async #untilAnswered(operation: LifecycleOperation): Promise<LifecycleReply> {
    const { signal } = this.#giveUp;
    const requestId = randomUUID();
    for (;;) {
      try {
        const reply = await this.#try(operation, requestId);
        if (reply.kind === 'accepted') {
          await this.#deps.store.rememberLifecycleSequence(reply.sequence);
          this.#deps.believe(reply.incarnation, reply.trust ?? null);
        }
        return reply;
      } catch (error) {
        if (signal.aborted) throw error;
        this.#deps.failed(error);
        await delay(this.#options.retryMs ?? 1_000, undefined, { signal });
      }
    }
  }

  async #try(operation: LifecycleOperation, requestId: string): Promise<LifecycleReply> {
    const { key, did, replicaId, manifestDigest, store, nowMs, inFlight, healthy } = this.#deps;
    const iat = Math.floor(nowMs() / 1000);
    const body = await signLifecycleCall(
      {
        iss: did,
        sub: replicaId,
        aud: this.#options.audience ?? LIFECYCLE_AUDIENCE,
        iat,
        exp: iat + LIFECYCLE_CALL_LIFE_S,
        operation,
        request_id: requestId,
        previous_sequence: await store.lifecycleSequence(),
        store_epoch: store.epoch,
        manifest_digest: manifestDigest,
        healthy: healthy(),
        in_flight: inFlight(),
      },
      key,
    );
    const url = new URL(
      `/v1/hosts/${encodeURIComponent(replicaId)}/${operation}`,
      this.#options.url,
    );
    const response = await request(url, {
      method: 'POST',
      headers: { 'content-type': JOSE_TYPE },
      body,
      signal: AbortSignal.any([this.#giveUp.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
    });
    const text = await readCapped(response.body, LIFECYCLE_LIMIT_BYTES * 4);
    if (text === null) throw new Error('the lifecycle service answered too much');
    const reply = LifecycleReply.safeParse(jsonOf(text));
    if (!reply.success) {
      throw new Error(`the lifecycle service answered ${response.statusCode} to ${operation}`);
    }
    return reply.data;
  }
}

function jsonOf(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}
