/** A host in this process whose one capability does what the test says, when it says so. */
import {
  capability,
  RateLimited,
  type Recovery,
  type WorkContext,
} from '../../../src/hosts/kit/connector';
import { createHost, type Host, type HostOptions } from '../../../src/hosts/kit/host';
import { memoryStore } from '../../../src/hosts/kit/stores/memory';
import type { FinalOutcome } from '../../../src/domain/host-protocol';
import type { SigningKey } from '../../../src/signing/keys';
import { IDENTITY, INCARNATION, trustIn } from './fixtures';

export interface Began {
  readonly context: WorkContext;
  readonly request: unknown;
  finish(outcome: FinalOutcome): void;
  /** The connector throws: nobody knows what it did. */
  lose(): void;
  /** Nothing was done: the provider wants to be left alone. */
  putOff(retryAfterMs: number): void;
}

/** Every call of the connector, in order. */
export class Work {
  readonly begun: Began[] = [];
  /** What each recovery finds; `unknown` at first. */
  finds: Recovery = { kind: 'unknown' };
  recoveries = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves once the connector was called this many times. */
  async times(count: number): Promise<Began> {
    while (this.begun.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    const began = this.begun[count - 1];
    if (began === undefined) throw new Error('the connector was not called');
    return began;
  }

  execute(context: WorkContext, request: unknown): Promise<FinalOutcome> {
    return new Promise((finish, fail) => {
      const lose = (): void => {
        fail(new Error('lost'));
      };
      const putOff = (retryAfterMs: number): void => {
        fail(new RateLimited(retryAfterMs));
      };
      this.begun.push({ context, request, finish, lose, putOff });
      for (const wake of this.#waiting.splice(0)) wake();
    });
  }

  recover(): Promise<Recovery> {
    this.recoveries += 1;
    return Promise.resolve(this.finds);
  }
}

export const DONE: FinalOutcome = { kind: 'succeeded', result: { ticketId: 'T-1' } };

/** An answer is waited for 0.8 times as long before it says `running`. */
export const TIMEOUT_MS = 1_000;

export interface WorkKeys {
  readonly host: SigningKey;
  readonly waybill: SigningKey;
}

export async function hostOver(
  work: Work,
  keys: WorkKeys,
  more: Partial<HostOptions> = {},
): Promise<Host> {
  const contract = {
    interfaceName: 'work-items',
    sideEffect: 'shared-write',
    recovery: 'lookup',
    requestSchema: {},
    resultSchema: {},
    timeoutMs: TIMEOUT_MS,
  } as const;
  const create = capability({
    contract,
    parse: (body) => {
      if (typeof body !== 'object') throw new Error('not an object');
      return body;
    },
    execute: (context, request) => work.execute(context, request),
    recover: () => work.recover(),
  });
  return await createHost({
    identity: IDENTITY,
    key: keys.host,
    store: memoryStore(),
    capabilities: { 'tickets.create': create },
    registration: { incarnation: INCARNATION, trust: trustIn(keys.waybill) },
    listen: { host: '127.0.0.1', port: 0 },
    graceMs: 200,
    ...more,
  });
}
