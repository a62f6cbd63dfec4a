/** One action as Waybill would send it: fences that only grow, the memory that it was sent to. */
import type { HostOutcome } from '../../domain/host-protocol';
import { tenantId } from '../../domain/ids';
import type { HostCall, HostClient } from '../client';
import type { HostResult } from '../client/results';
import type { HostIdentity } from '../kit/checks';

/** An outcome as the host signed it, or what else came of the call. */
export type TestAnswer = HostOutcome | Exclude<HostResult, { kind: 'answered' }>;

/** Where the host is now, and what it says of itself. */
export interface TestPeer {
  readonly url: string;
  readonly did: string;
  readonly manifestDigest: string;
  readonly storeEpoch: string;
  readonly incarnation: number;
  /** Aborted when the host is killed: nobody waits for its answer any more. */
  readonly gone: AbortSignal;
}

export interface TestActionDeps {
  readonly client: HostClient;
  readonly identity: HostIdentity;
  readonly peer: () => TestPeer;
}

export interface TestOrder {
  readonly actionId: string;
  readonly capabilityId: string;
  /** The request's bytes. */
  readonly body: Buffer;
}

const TIMEOUT_MS = 60_000;

export class TestAction {
  readonly id: string;
  readonly #deps: TestActionDeps;
  readonly #order: TestOrder;
  #fence = 1;
  #fenced = false;
  /** The memory that it was first sent to; null before that. */
  #storeEpoch: string | null = null;
  #sentAtMs: number | null = null;

  constructor(order: TestOrder, deps: TestActionDeps) {
    this.id = order.actionId;
    this.#order = order;
    this.#deps = deps;
  }

  /** Sends it, or sends it again: with the same fence, or above the last reconcile or cancel. */
  async execute(): Promise<TestAnswer> {
    if (this.#fenced) this.#fence += 1;
    this.#fenced = false;
    const call = this.#call(this.#storeEpoch);
    this.#storeEpoch ??= this.#deps.peer().storeEpoch;
    this.#sentAtMs = performance.now();
    return told(await this.#deps.client.execute(call, this.#order.body));
  }

  /** Fences it off, and asks what became of it. */
  async reconcile(): Promise<TestAnswer> {
    return told(await this.#deps.client.reconcile(this.#above()));
  }

  /** Asks a memory that was not there when it was sent, and brings the request along. */
  async reconcileAfterLoss(): Promise<TestAnswer> {
    const { storeEpoch } = this.#deps.peer();
    const call = { ...this.#above(), storeEpoch };
    return told(await this.#deps.client.reconcile(call, this.#order.body));
  }

  /** Fences it off, and has it stopped. */
  async cancel(): Promise<TestAnswer> {
    return told(await this.#deps.client.cancel(this.#above()));
  }

  /** What is known of it; changes nothing. */
  async read(): Promise<TestAnswer> {
    return told(await this.#deps.client.read(this.#call(this.#storeEpoch)));
  }

  #above(): HostCall {
    this.#fence += 1;
    this.#fenced = true;
    return this.#call(this.#storeEpoch);
  }

  #call(storeEpoch: string | null): HostCall {
    const { identity, peer } = this.#deps;
    const { url, did, manifestDigest, incarnation, gone } = peer();
    const [credentialRevision = ''] = identity.credentialRevisions;
    return {
      route: {
        ...{ tenantId: tenantId(identity.tenantId), actionId: this.id },
        ...{ capabilityId: this.#order.capabilityId, connectorId: identity.connectorId },
        ...{ instanceId: identity.instanceId, version: identity.version, manifestDigest },
        ...{ replicaId: identity.replicaId, endpoint: url, peerDid: did },
        ...{ peerPrincipalId: identity.replicaId, peerPrincipalKind: 'connector-host' },
        ...{ trustDomain: 'test', transportProfile: 'http-loopback' },
        topology: { region: 'test', zone: 'test', capacityClass: 'standard' },
        ...{ catalogRevision: 1, bindingPolicyRevision: 1, credentialRevision },
        ...{ quotaPolicyId: null, assignedAt: new Date().toISOString() },
      },
      ...{ fence: this.#fence, incarnation, storeEpoch, beginAnew: false, approval: null },
      sentAgoMs: this.#sentAtMs === null ? null : performance.now() - this.#sentAtMs,
      ...{ expiresAtMs: Date.now() + TIMEOUT_MS, timeoutMs: TIMEOUT_MS, signal: gone },
    };
  }
}

function told(result: HostResult): TestAnswer {
  return result.kind === 'answered' ? result.outcome : result;
}
