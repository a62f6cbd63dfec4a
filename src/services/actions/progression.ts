/** Following a host at work: what it says of how far it is, for people (docs/host-protocol, "Long actions"). */
import { setTimeout as delay } from 'node:timers/promises';
import { noteProgress } from '../../db/action-steps';
import type { DispatchRequest } from '../../domain/action-activities';
import type { Progress } from '../../domain/host-protocol';
import type { HostCall } from '../../hosts/client';
import type { ActionServices } from './action-services';

export interface DispatchRun {
  /** Aborted when the call is given up. */
  readonly signal: AbortSignal;
  /** Shows it with the activity. */
  readonly tell: (details: unknown) => void;
}

const READ_TIMEOUT_MS = 5_000;

export class Progression {
  readonly #services: ActionServices;
  readonly #request: DispatchRequest;
  readonly #run: DispatchRun;
  #said = '';

  constructor(services: ActionServices, request: DispatchRequest, run: DispatchRun) {
    this.#services = services;
    this.#request = request;
    this.#run = run;
  }

  /** Writes it where it is news. Never rejects: nothing of the action depends on it. */
  async note(progress: Progress | null): Promise<void> {
    const said = JSON.stringify(progress);
    if (progress === null || said === this.#said) return;
    try {
      await noteProgress(this.#services.data, this.#request, progress);
      this.#run.tell({ progress });
      this.#said = said;
    } catch {
      // Postgres is away: the next word is written.
    }
  }

  /** Asks the host how far it is while `send` waits for what became of it. */
  async during<Answer>(call: HostCall, send: (call: HostCall) => Promise<Answer>): Promise<Answer> {
    const ended = new AbortController();
    const signal = AbortSignal.any([call.signal, ended.signal]);
    const watching = this.#watch({ ...call, signal, timeoutMs: READ_TIMEOUT_MS });
    try {
      return await send(call);
    } finally {
      ended.abort();
      await watching;
    }
  }

  async #watch(call: HostCall): Promise<void> {
    const { hosts, watchMs } = this.#services;
    for (;;) {
      await delay(watchMs, undefined, { signal: call.signal }).catch(() => undefined);
      if (call.signal.aborted) return;
      const read = await hosts.read(call);
      // Whatever else it says is for the call itself to find out.
      if (read.kind !== 'answered' || read.outcome.kind !== 'running') continue;
      await this.note(read.outcome.progress);
    }
  }
}
