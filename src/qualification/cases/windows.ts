/** What every crash window shares: its checkpoint, its retries, and what is kept of them. */
import type { Lane } from '../../domain/lanes';
import { windowFolder } from '../evidence/records';
import { inWindow } from '../families/family';
import type { Boundary, Fault } from '../faults';
import { approvedOnceAsked, ask, factsOf, observeRecords, type Wish } from './actions';
import type { CaseContext, Observed } from './context';
import type { ActionOfTenant } from '../judging/judge';

export type Crash = Extract<Fault, { kind: 'crash' }>;

const RETRY_WAIT_MS = 20_000;
const RETRIES = 5;

export function crashesOf({ faults }: CaseContext): Crash[] {
  return faults.filter((fault): fault is Crash => fault.kind === 'crash');
}

/** One window of a family, or what it is for one lane: observations and files of its own. */
export class CrashWindow {
  readonly boundary: Boundary;
  readonly #context: CaseContext;
  readonly #lane: Lane | null;
  readonly #folder: string;
  readonly #tries: unknown[] = [];
  #approved: Promise<void> = Promise.resolve();

  constructor(context: CaseContext, boundary: Boundary, lane: Lane | null = null) {
    this.#context = context;
    this.boundary = boundary;
    this.#lane = lane;
    this.#folder = windowFolder(context.family, boundary, lane);
  }

  observe(what: string, actual: Observed): void {
    this.#context.observe(inWindow(this.boundary, what, this.#lane), actual);
  }

  /** Has the action approved as soon as it is asked for, before or after the kill. */
  approve(ref: ActionOfTenant): void {
    this.#approved = approvedOnceAsked(this.#context, ref);
  }

  /** What was durable when the process was killed, seen from outside. */
  checkpoint(marker: string, durable: Readonly<Record<string, Observed>>): void {
    for (const [what, actual] of Object.entries(durable)) this.observe(what, actual);
    const at = new Date().toISOString();
    this.#keep('checkpoint.json', { boundary: this.boundary, at, marker, durable });
  }

  /** One more try of the same call. */
  tried(status: number | null, answer: unknown): void {
    const no = this.#tries.length + 1;
    this.#tries.push({ no, at: new Date().toISOString(), status, answer });
    this.#keep('retries.json', this.#tries);
  }

  result(value: object): void {
    this.#keep('result.json', value);
  }

  /** The same call with the same id until the action is closed. */
  async retryAction(wish: Wish): Promise<void> {
    for (let no = 1; no <= RETRIES; no += 1) {
      const answer = await ask(this.#context, { ...wish, waitMs: RETRY_WAIT_MS });
      this.tried(answer.status, answer.body);
      if (answer.status === 200) break;
    }
    await this.#approved;
  }

  /** What there is of the action when all is over. */
  async judgeAction(ref: ActionOfTenant): Promise<void> {
    const { judge } = this.#context;
    const facts = await factsOf(this.#context, ref);
    this.observe('state after the retry', facts.state);
    this.observe('replicas that it was sent to', facts.replicas);
    this.observe('open attempts', facts.openAttempts);
    this.observe('replica counters that differ from them', await judge.wrongReplicaCounters());
    this.observe('quota counters that differ from them', await judge.wrongQuotaCounters());
    await observeRecords(this.#context, ref, (what) => inWindow(this.boundary, what));
    this.result({ facts, receipts: await judge.receipts(ref) });
  }

  #keep(name: string, value: unknown): void {
    this.#context.keep(`${this.#folder}/${name}`, value);
  }
}
