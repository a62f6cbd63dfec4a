/**
 * The actions of a host: intent before effect, one effect an action, fences, seals and tombstones
 * (docs/host-protocol). Whether a caller may ask is judged before it gets here.
 */
import type {
  HostOutcome,
  HostRefusal,
  HostVerdict,
  RefusedAnswer,
} from '../../domain/host-protocol';
import type { Capability, PreparedWork, Recovery, WorkContext } from './connector';
import {
  adopt,
  begin,
  fenceOff,
  finish,
  hasStarted,
  withdraw,
  type FenceAnswer,
  type StoreRefusal,
} from './decisions';
import { within, Jobs, type Job } from './jobs';
import { storable } from './outcomes';
import type { ReachPoint } from './points';
import { limitOf, type PutOff } from './rate-limits';
import type { ActionRef, Decide, HostStore, RecordedWork, UsedToken } from './store';

export interface ActionDeps {
  readonly store: HostStore;
  readonly capabilities: Readonly<Record<string, Capability>>;
  readonly nowMs: () => number;
  readonly reach: ReachPoint;
  /** What a connector or the store threw; never told to the caller. */
  readonly failed: (error: unknown) => void;
}

export interface ActionCall extends ActionRef {
  readonly fence: number;
  readonly token: UsedToken;
  /** Then the answer is `running`. */
  readonly answerWithinMs: number;
}

type AskedWork = Omit<RecordedWork, 'tries' | 'intentAtMs'> & { readonly request: string };

export interface ExecuteCall extends ActionCall {
  /** See `BeginStep`. */
  readonly anew: boolean;
  readonly work: AskedWork;
}

export interface ReconcileCall extends ActionCall {
  /** The request, of an action that was sent to a memory which is gone; null: ours was there. */
  readonly adopted: (AskedWork & { readonly sentAgoMs: number }) | null;
}

/** How a job ended: what stands for good, or why nothing does. */
type End = HostOutcome | Recovery | PutOff;

/** A recovery may find that nothing began; more rounds than this need another call. */
const ROUNDS = 4;

export class Actions {
  readonly #deps: ActionDeps;
  readonly #jobs: Jobs<End>;

  constructor(deps: ActionDeps) {
    this.#deps = deps;
    this.#jobs = new Jobs(deps.failed);
  }

  get inFlight(): number {
    return this.#jobs.size;
  }

  /** Resolves when nothing is under way any more, or after `withinMs`: then false. */
  drained(withinMs: number): Promise<boolean> {
    return this.#jobs.drained(withinMs);
  }

  /** Runs the action, or tells what became of it when it was run before. */
  async execute(call: ExecuteCall): Promise<HostVerdict> {
    const prepared = this.#prepare(call.work);
    if (prepared === null) return await this.refuse(call, 'request_invalid');
    await this.#deps.reach('before_intent_persistence');
    let again = false;
    for (let round = 0; round < ROUNDS; round += 1) {
      const step = await this.#begin(call, prepared, { again, first: round === 0 });
      if (step.kind !== 'job') return step;
      const end = await this.#wait(call, step.job);
      if (end?.kind === 'refused') return await this.#asRefusal(call, end);
      if (end?.kind === 'running' || step.job.kind === 'execution') return asOutcome(end);
      if (end?.kind !== 'not_started' && end?.kind !== 'repeatable') return asOutcome(end);
      again = end.kind === 'repeatable';
    }
    return { kind: 'unknown' };
  }

  /**
   * Fences the action off and tells what became of it; nothing began: it is sealed. An adopted one is
   * an intent whose effect is looked for: not knowing it proves nothing.
   */
  async reconcile(call: ReconcileCall): Promise<HostVerdict> {
    const step = await this.#fence(call, this.#sealing(call), call.token);
    if (step.kind !== 'job') return step;
    if (step.job.kind === 'execution') return runningNow(step.job);
    return asOutcome(await this.#wait(call, step.job));
  }

  /** Fences the action off and stops it; nothing began: it never will. */
  async cancel(call: ActionCall): Promise<HostVerdict> {
    for (let round = 0; round < ROUNDS; round += 1) {
      const bury = fenceOff(call.fence, 'tombstone');
      const step = await this.#fence(call, bury, round === 0 ? call.token : null);
      if (step.kind !== 'job') return step;
      if (step.job.kind === 'execution') step.job.abort();
      const end = await this.#wait(call, step.job);
      // A try that ended without a result: the next round recovers it. Nothing began: a tombstone.
      const retry =
        step.job.kind === 'execution'
          ? end === null || end.kind === 'refused'
          : end?.kind === 'not_started';
      if (!retry) return asOutcome(end);
    }
    return { kind: 'unknown' };
  }

  /** What is known, without touching anything. */
  async read(ref: ActionRef): Promise<HostOutcome> {
    const record = await this.#deps.store.read(ref);
    if (record === null || record.state === 'fenced') return { kind: 'not_started' };
    if (record.outcome !== null) return record.outcome;
    const job = this.#jobs.get(keyOf(ref));
    return job === undefined ? { kind: 'unknown' } : runningNow(job);
  }

  /** A refusal that tells the truth about what has begun; `blind`: the memory may not have been there. */
  async refuse(ref: ActionRef, refusal: HostRefusal, blind = false): Promise<RefusedAnswer> {
    const record = await this.#deps.store.read(ref);
    return {
      kind: 'refused',
      refusal,
      started: hasStarted(record) || refusal === 'store_lost' || blind,
      highest_fence: record?.highestFence ?? null,
    };
  }

  async #begin(
    call: ExecuteCall,
    prepared: PreparedWork,
    round: { readonly again: boolean; readonly first: boolean },
  ): Promise<Step> {
    const { store, nowMs } = this.#deps;
    const key = keyOf(call);
    return await this.#jobs.inTurn(key, async () => {
      // Asked before the store: a job that ends meanwhile has left its result there.
      const live = this.#jobs.get(key);
      const work = { ...call.work, intentAtMs: nowMs() };
      const idle = live === undefined;
      const again = round.again && idle;
      const decide = begin({ fence: call.fence, work, again, anew: call.anew && idle });
      const answer = await store.update(call, round.first ? call.token : null, decide);
      switch (answer.kind) {
        case 'refused':
          return refusedBy(answer);
        case 'finished':
          return answer.outcome;
        case 'intent':
          return { kind: 'job', job: live ?? this.#startRecovery(call, answer.work) };
        case 'begun':
          return { kind: 'job', job: this.#startExecution(call, prepared, answer.work) };
      }
    });
  }

  #sealing({ fence, adopted }: ReconcileCall): Decide<FenceAnswer> {
    if (adopted === null) return fenceOff(fence, 'seal');
    const { sentAgoMs, ...work } = adopted;
    return adopt(fence, { ...work, intentAtMs: this.#deps.nowMs() - sentAgoMs });
  }

  async #fence(
    call: ActionCall,
    decide: Decide<FenceAnswer>,
    token: UsedToken | null,
  ): Promise<Step> {
    const key = keyOf(call);
    return await this.#jobs.inTurn(key, async () => {
      const live = this.#jobs.get(key);
      const answer = await this.#deps.store.update(call, token, decide);
      switch (answer.kind) {
        case 'refused':
          return refusedBy(answer);
        case 'finished':
          return answer.outcome;
        case 'nothing':
          return { kind: 'not_started' };
        case 'intent':
          return { kind: 'job', job: live ?? this.#startRecovery(call, answer.work) };
      }
    });
  }

  #startExecution(ref: ActionRef, prepared: PreparedWork, work: RecordedWork): Job<End> {
    const { store, reach, failed } = this.#deps;
    return this.#jobs.start(keyOf(ref), 'execution', async (controls) => {
      await reach('intent_persisted');
      const context = contextOf(ref, work, controls);
      controls.signal.addEventListener('abort', () => {
        prepared.cancel(context).catch(failed);
      });
      const outcome = await prepared.execute(context).catch(limitOf);
      await reach('provider_response_received');
      if (outcome.kind === 'refused') return await this.#putOff(ref, work, outcome);
      const standing = await store.update(ref, null, finish(storable(outcome)));
      await reach('result_persisted');
      return standing;
    });
  }

  /** This try had no effect; whether an earlier one had is as open as before. */
  async #putOff(ref: ActionRef, { tries }: RecordedWork, limited: PutOff): Promise<PutOff> {
    if (tries > 1) return { ...limited, started: true };
    await this.#deps.store.update(ref, null, withdraw());
    return limited;
  }

  async #asRefusal(ref: ActionRef, refused: PutOff): Promise<RefusedAnswer> {
    const record = await this.#deps.store.read(ref);
    return { ...refused, highest_fence: record?.highestFence ?? null };
  }

  #startRecovery(ref: ActionRef, work: RecordedWork): Job<End> {
    const { store, nowMs } = this.#deps;
    return this.#jobs.start(keyOf(ref), 'recovery', async (controls) => {
      const prepared = this.#prepare(work);
      if (prepared === null) return { kind: 'unknown' };
      const startedAgoMs = Math.max(0, nowMs() - work.intentAtMs);
      const context = contextOf(ref, work, controls);
      const found = await prepared.recover(Object.assign(context, { startedAgoMs }));
      if (found.kind === 'unknown' || found.kind === 'repeatable') return found;
      if (found.kind !== 'not_started')
        return await store.update(ref, null, finish(storable(found)));
      await store.update(ref, null, withdraw());
      return found;
    });
  }

  /** Null where the capability is not offered (any more) or the body is none of its requests. */
  #prepare({
    capability,
    request,
  }: Pick<RecordedWork, 'capability' | 'request'>): PreparedWork | null {
    try {
      return this.#deps.capabilities[capability]?.prepare(request ?? '') ?? null;
    } catch {
      return null;
    }
  }

  /** How the job ended (null: it failed), or `running` when it has not by then. */
  async #wait(call: ActionCall, job: Job<End>): Promise<End | null> {
    await within(job.end, call.answerWithinMs);
    return this.#jobs.get(keyOf(call)) === job ? runningNow(job) : await job.end;
  }
}

type Step = HostVerdict | { readonly kind: 'job'; readonly job: Job<End> };

function contextOf(
  { tenant, action }: ActionRef,
  { credentialRevision, approval }: RecordedWork,
  controls: Pick<WorkContext, 'signal' | 'progress'>,
): WorkContext {
  const idempotencyKey = `${tenant}/${action}`;
  return { tenant, action, idempotencyKey, credentialRevision, approval, ...controls };
}

function keyOf({ tenant, action }: ActionRef): string {
  return JSON.stringify([tenant, action]);
}

function runningNow({ progress }: Job<End>): HostOutcome {
  return { kind: 'running', progress };
}

/** Null: the job failed, so what it did is not known. */
function asOutcome(end: End | null): HostOutcome {
  return end === null || end.kind === 'repeatable' || end.kind === 'refused'
    ? { kind: 'unknown' }
    : end;
}

function refusedBy({ refusal, started, highestFence }: StoreRefusal): RefusedAnswer {
  return { kind: 'refused', refusal, started, highest_fence: highestFence };
}
