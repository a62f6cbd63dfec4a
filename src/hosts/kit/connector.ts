/** What a connector gives to the host kit: its capabilities. */
import type { FinalOutcome, ManifestCapability } from '../../domain/host-protocol';

/** What the connector knows of the action that it works on. */
export interface WorkContext {
  readonly tenant: string;
  readonly action: string;
  /** The same for every try of the action: give it to a provider that takes idempotency keys. */
  readonly idempotencyKey: string;
  readonly credentialRevision: string;
  readonly approval: string | null;
  /** Aborted by a cancel. Stop if that is safe, and say `cancelled` only where nothing was effected. */
  readonly signal: AbortSignal;
  /**
   * How far it is: one line for people, kept until the next one, and where it can be told a percentage.
   * It is shown with the action while it is under way, and never taken for proof.
   */
  readonly progress: (note: string, percent?: number) => void;
}

/** What is known when a try ended without a result: by a crash, or by an error of the connector. */
export interface RecoveryContext extends WorkContext {
  /** How long ago the connector was last called; a request to the provider may still be under way. */
  readonly startedAgoMs: number;
}

export type Recovery =
  | FinalOutcome
  /** Proof that there is no effect and that none is under way. */
  | { readonly kind: 'not_started' }
  /** Whatever happened, doing it again is safe: the provider knows our key. */
  | { readonly kind: 'repeatable' }
  | { readonly kind: 'unknown' };

/**
 * Thrown by `execute` before it has any effect: the provider wants to be left alone for so long. The
 * action is sent again later, and nothing else is sent to this account meanwhile.
 */
export class RateLimited extends Error {
  readonly retryAfterMs: number;

  /** @param retryAfterMs more than a day counts as a day */
  constructor(retryAfterMs: number) {
    super(`the provider wants to be left alone for ${retryAfterMs} ms`);
    this.name = 'RateLimited';
    this.retryAfterMs = retryAfterMs;
  }
}

export interface CapabilityWork<Request> {
  /** What the manifest says; its id is the key of the capability. */
  readonly contract: Omit<ManifestCapability, 'capabilityId'>;
  /** Reads a request's JSON; throws where it is not one. A zod schema's `parse` will do. */
  readonly parse: (body: unknown) => Request;
  /**
   * Does it. Resolves with what became of it for good; throws `RateLimited` before any effect where the
   * provider wants to wait; throws (anything else) where what became of it is not known, and `recover`
   * is asked later.
   */
  readonly execute: (context: WorkContext, request: Request) => Promise<FinalOutcome>;
  /** Finds out what became of it. Needed for the recovery `lookup`. */
  readonly recover?: (context: RecoveryContext, request: Request) => Promise<Recovery>;
  /** Beside the abort of the signal: tells the provider to stop. */
  readonly cancel?: (context: WorkContext, request: Request) => Promise<void>;
}

/** A capability whose request type is known inside alone. */
export interface Capability {
  readonly contract: Omit<ManifestCapability, 'capabilityId'>;
  /** Throws for a body that is no request. */
  prepare(body: string): PreparedWork;
}

export interface PreparedWork {
  execute(context: WorkContext): Promise<FinalOutcome>;
  recover(context: RecoveryContext): Promise<Recovery>;
  cancel(context: WorkContext): Promise<void>;
}

/** Makes a capability. Throws when its recovery is `lookup` and it has no `recover`. */
export function capability<Request>(work: CapabilityWork<Request>): Capability {
  const { contract, parse, execute, recover, cancel } = work;
  if (contract.recovery === 'lookup' && recover === undefined) {
    throw new Error('a capability with the recovery "lookup" needs a recover function');
  }
  return {
    contract,
    prepare(body) {
      const request = parse(JSON.parse(body));
      return {
        execute: (context) => execute(context, request),
        recover: async (context) =>
          (await recover?.(context, request)) ?? recoveryWithout(contract),
        cancel: async (context) => {
          await cancel?.(context, request);
        },
      };
    },
  };
}

function recoveryWithout(contract: CapabilityWork<unknown>['contract']): Recovery {
  if (contract.sideEffect === 'read') return { kind: 'not_started' };
  return contract.recovery === 'provider_key' ? { kind: 'repeatable' } : { kind: 'unknown' };
}
