/**
 * Tells Waybill that this host is there: registers, renews its lease with every heartbeat, drains,
 * goes offline. A call whose answer was lost is repeated under the same request id.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { z } from 'zod';
import { WaybillError } from '../../domain/errors';
import type { LifecycleOperation } from '../../domain/host-protocol';
import { untilFirst } from '../../domain/signals';
import { LifecycleReply, type TokenTrust } from '../../schemas/host-messages';
import { jsonOf } from '../../schemas/json-bytes';
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
  /** It is not this replica's process any more, and must not work: another one is, or none. */
  readonly superseded: (why: WaybillError) => void;
  readonly failed: (error: unknown) => undefined;
}

const CALL_TIMEOUT_MS = 5_000;
const JITTER = 0.2;
const REGISTER_TRIES = 5;

const Refusal = z.object({ code: z.string(), detail: z.string() });

export class Lifecycle {
  readonly #options: LifecycleOptions;
  readonly #deps: LifecycleDeps;
  /** Ends the pauses; a call under way goes on, so that its sequence is known. */
  readonly #stop = new AbortController();
  readonly #giveUp = new AbortController();
  /** It is to go: the next heartbeats say so sooner. */
  readonly #leaving = new AbortController();
  readonly #gone = new AbortController();
  #beating: Promise<void> = Promise.resolve();
  /** One call after the other: each names the sequence of the one before. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(options: LifecycleOptions, deps: LifecycleDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /**
   * Resolves once registered, however long that takes.
   * @throws WaybillError `host_turned_away` for a replica that Waybill has not or that somebody else
   *   speaks for; `manifest_mismatch`
   */
  async register(): Promise<void> {
    let reply = await this.#call('register');
    // A new process, perhaps with a new store, cannot know what its predecessor said last; one that is
    // still there may say something more meanwhile.
    for (let tries = 1; reply.kind === 'stale_sequence' && tries < REGISTER_TRIES; tries += 1) {
      await this.#deps.store.rememberLifecycleSequence(reply.sequence);
      reply = await this.#call('register');
    }
    if (reply.kind !== 'accepted') throw turnedAway(this.#deps.replicaId, reply.kind);
    this.#beating = this.#beat();
  }

  /** No new work; what is pinned here still comes. */
  async drain(): Promise<void> {
    this.#leaving.abort();
    const reply = await this.#call('drain');
    // Its lease ran out, or somebody else has taken over: there is nothing left to drain.
    if (reply.kind !== 'accepted') this.#gone.abort();
  }

  /** Aborted when Waybill says that nothing is open on this replica any more. */
  get drained(): AbortSignal {
    return this.#gone.signal;
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
    for (;;) {
      await this.#pause();
      if (this.#stop.signal.aborted) return;
      const reply = await this.#renew().catch(this.#deps.failed);
      // Nothing: given up, because the host stops.
      if (reply === undefined) return;
      if (reply.kind !== 'accepted') {
        this.#deps.superseded(turnedAway(this.#deps.replicaId, reply.kind));
        return;
      }
    }
  }

  async #pause(): Promise<void> {
    const { heartbeatMs = 10_000, retryMs = 1_000 } = this.#options;
    const leaving = this.#leaving.signal;
    const hurried = leaving.aborted && !this.#gone.signal.aborted;
    const pauseMs = hurried ? retryMs : heartbeatMs * (1 - JITTER + 2 * JITTER * Math.random());
    const wakes = leaving.aborted ? [this.#stop.signal] : [this.#stop.signal, leaving];
    await untilFirst(wakes, (signal) => delay(pauseMs, undefined, { signal })).catch(
      () => undefined,
    );
  }

  /** A heartbeat; whoever was cut off for longer than its lease comes back as a new incarnation. */
  async #renew(): Promise<LifecycleReply> {
    const reply = await this.#call('heartbeat');
    if (reply.kind !== 'must_register') return reply;
    await this.#deps.store.rememberLifecycleSequence(reply.sequence);
    const again = await this.#call('register');
    const leaves = again.kind === 'accepted' && this.#leaving.signal.aborted;
    return leaves ? await this.#call('drain') : again;
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
          if (reply.status === 'drained') this.#gone.abort();
        }
        return reply;
      } catch (error) {
        if (signal.aborted || error instanceof WaybillError) throw error;
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
    const ends = [this.#giveUp.signal, AbortSignal.timeout(CALL_TIMEOUT_MS)];
    const { statusCode, text } = await untilFirst(ends, async (signal) => {
      const headers = { 'content-type': JOSE_TYPE };
      const response = await request(url, { method: 'POST', headers, body, signal });
      const read = await readCapped(response.body, LIFECYCLE_LIMIT_BYTES * 4);
      return { statusCode: response.statusCode, text: read };
    });
    if (text === null) throw new Error('the lifecycle service answered too much');
    const json = jsonOf(text);
    const reply = LifecycleReply.safeParse(json);
    if (reply.success) return reply.data;
    const { code = '', detail = '' } = Refusal.safeParse(json).data ?? {};
    // Neither manifest ever changes: asking again is of no use.
    if (code === 'manifest_mismatch') throw new WaybillError(code, detail);
    const why = detail === '' ? '' : `: ${detail}`;
    throw new Error(`the lifecycle service answered ${statusCode} to ${operation}${why}`);
  }
}

function turnedAway(
  replicaId: string,
  kind: Exclude<LifecycleReply['kind'], 'accepted'>,
): WaybillError {
  const why =
    kind === 'unknown_replica'
      ? `Waybill has no replica ${replicaId}; publish it first`
      : `another process has registered as the replica ${replicaId}`;
  return new WaybillError('host_turned_away', why);
}
