/** A connector's host in the process of a test: started, killed, started again with its memory. */
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import type { SigningKey } from '../../signing/keys';
import type { HostClient } from '../client';
import type { HostIdentity } from '../kit/checks';
import { createHost, type Host } from '../kit/host';
import type { HostPoint } from '../kit/points';
import type { Connector } from '../kit/process';
import { sqliteStore } from '../kit/stores/sqlite';
import type { LifecycleService } from './lifecycle-service';
import { TestAction } from './test-action';

/** Where a host can be killed: before and after each thing that it writes down. */
export type KillPoint = Exclude<HostPoint, 'provider_effect_committed'>;

export interface TestHostParts {
  readonly connector: Connector;
  readonly identity: HostIdentity;
  readonly key: SigningKey;
  readonly lifecycle: LifecycleService;
  readonly client: HostClient;
  readonly folder: string;
}

const HEARTBEAT_MS = 50;

export class TestHost {
  /** What it says to Waybill: its calls, and what they are answered. */
  readonly lifecycle: LifecycleService;
  /** What the connector threw, in order. */
  readonly errors: unknown[] = [];
  readonly #parts: TestHostParts;
  #host: Host | null = null;
  #gone = new AbortController();
  #stores = 0;
  #stopAt: { readonly point: KillPoint; readonly reached: () => void } | null = null;

  private constructor(parts: TestHostParts) {
    this.#parts = parts;
    this.lifecycle = parts.lifecycle;
  }

  /** Started and registered. Throws for what the kit does not start with. */
  static async start(parts: TestHostParts): Promise<TestHost> {
    const host = new TestHost(parts);
    await host.#start();
    return host;
  }

  get url(): string {
    return this.#running.url;
  }

  /** An action of this host with a new id. */
  action(capabilityId: string, request: unknown, actionId: string = randomUUID()): TestAction {
    const body = Buffer.from(JSON.stringify(request));
    const { client, identity } = this.#parts;
    const peer = () => {
      const { url, did, manifestDigest, storeEpoch } = this.#running;
      const { incarnation } = this.lifecycle;
      return { url, did, manifestDigest, storeEpoch, incarnation, gone: this.#gone.signal };
    };
    return new TestAction({ actionId, capabilityId, body }, { client, identity, peer });
  }

  /** Executes the action, and kills the host where it stands at the point. */
  async killAt(point: KillPoint, action: TestAction): Promise<void> {
    const there = new Promise<void>((resolve) => {
      this.#stopAt = { point, reached: resolve };
    });
    const answer = action.execute();
    const missed = answer.then((told) => {
      if (told.kind === 'lost') return;
      throw new Error(`the host answered ${told.kind} and never came to ${point}`);
    });
    await Promise.race([there, missed]);
    await this.kill();
    await answer;
  }

  /**
   * As SIGKILL would: nothing is finished, nobody is told. A connector that is at work goes on in this
   * process, as a request to a product does, and what comes of it is not written down any more.
   */
  async kill(): Promise<void> {
    this.#gone.abort();
    await this.#host?.stop();
    this.#host = null;
  }

  /** Starts it again, with the memory that it had; `forget`: with a new one. */
  async restart({ forget = false }: { readonly forget?: boolean } = {}): Promise<void> {
    if (this.#host !== null) await this.kill();
    if (forget) this.#stores += 1;
    await this.#start();
  }

  /** An orderly end: drains, finishes what is open, says that it is offline. */
  async retire(withinMs = 10_000): Promise<void> {
    await this.#running.retire(withinMs);
    this.#host = null;
  }

  get #running(): Host {
    if (this.#host === null) throw new Error('the host does not run');
    return this.#host;
  }

  async #start(): Promise<void> {
    const { connector, identity, key, lifecycle, folder } = this.#parts;
    const gone = new AbortController();
    this.#gone = gone;
    this.#stopAt = null;
    this.#host = await createHost({
      ...{ identity, key, capabilities: connector.capabilities },
      store: sqliteStore(path.join(folder, `host-${String(this.#stores)}.sqlite`)),
      registration: { url: lifecycle.url, heartbeatMs: HEARTBEAT_MS, retryMs: 10 },
      listen: { host: '127.0.0.1', port: 0 },
      graceMs: 0,
      reach: (name) => this.#pass(name),
      failed: (error) => {
        if (!gone.signal.aborted) this.errors.push(error);
      },
    });
  }

  async #pass(name: HostPoint): Promise<void> {
    if (this.#stopAt?.point !== name) return;
    const { reached } = this.#stopAt;
    this.#stopAt = null;
    reached();
    // Whoever stands here is killed.
    await new Promise(() => undefined);
  }
}
