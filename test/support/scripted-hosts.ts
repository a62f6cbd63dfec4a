/**
 * A host client in which a test plays the host for single actions. All other calls go to the real host,
 * and so does every call that a script has no answer to.
 */
import type { Progress } from '../../src/domain/host-protocol';
import type { HostCall, HostClient } from '../../src/hosts/client';
import type { HostResult } from '../../src/hosts/client/results';
import type { ActionRig } from './action-rig';

type Purpose = 'execute' | 'reconcile' | 'cancel' | 'read';

/** @param nth counts the action's calls of this purpose, from 1; null: the real host answers */
type Play = (nth: number, call: HostCall) => Promise<HostResult | null> | HostResult | null;
export type Script = Partial<Readonly<Record<Purpose, Play>>>;

export class ScriptedHosts {
  readonly #scripts = new Map<string, Script>();
  readonly #calls: { readonly purpose: Purpose; readonly call: HostCall }[] = [];

  /** Takes the place of the rig's client; before its worker starts. */
  static over({ services }: ActionRig): ScriptedHosts {
    const real = services.hosts;
    const scripted = new ScriptedHosts();
    const hosts: HostClient = {
      ...real,
      execute: (call, body) => scripted.#answer('execute', call, () => real.execute(call, body)),
      reconcile: (call, body) =>
        scripted.#answer('reconcile', call, () => real.reconcile(call, body)),
      cancel: (call) => scripted.#answer('cancel', call, () => real.cancel(call)),
      read: (call) => scripted.#answer('read', call, () => real.read(call)),
    };
    Object.assign(services, { hosts });
    return scripted;
  }

  play(actionId: string, script: Script): void {
    this.#scripts.set(actionId, script);
  }

  /** Calls of this purpose about the action, oldest first. */
  calls(actionId: string, purpose: Purpose): readonly HostCall[] {
    return this.#calls
      .filter((one) => one.purpose === purpose && one.call.route.actionId === actionId)
      .map(({ call }) => call);
  }

  async #answer(
    purpose: Purpose,
    call: HostCall,
    real: () => Promise<HostResult>,
  ): Promise<HostResult> {
    this.#calls.push({ purpose, call });
    const { actionId } = call.route;
    const play = this.#scripts.get(actionId)?.[purpose];
    const played = await play?.(this.calls(actionId, purpose).length, call);
    return played ?? (await real());
  }
}

/** An answer that never came. */
export const LOST: HostResult = {
  ...{ kind: 'lost', cause: 'ours', reason: 'timed_out', detail: 'no answer in time' },
};
export const NOT_SENT: HostResult = {
  ...{ kind: 'not_sent', reason: 'connection_failed', detail: 'no connection to the host' },
};
export const UNKNOWN: HostResult = {
  ...{ kind: 'answered', outcome: { kind: 'unknown' }, storeEpoch: 'e' },
};
export const RUNNING = runningWith(null);

export function runningWith(progress: Progress | null): HostResult {
  return { kind: 'answered', outcome: { kind: 'running', progress }, storeEpoch: 'e' };
}
