/** Hosts as routing sees them: they register, renew their lease, drain, fall silent, and come back. */
import { setTimeout as delay } from 'node:timers/promises';
import type { LifecycleAnswer, RegistryAdministrator } from '../../../src/domain/registry-ports';
import type { Tally } from './tally';

const BEAT_MS = 250;
/** Beats between two drains, and between two silences; no common factor. */
const DRAINS_EVERY = 13;
const SILENT_EVERY = 29;

export interface HostOptions {
  readonly fleet: RegistryAdministrator;
  readonly replicaId: string;
  /** Keeps the hosts from doing the same at the same time. */
  readonly phase: number;
  /** Longer than a lease. */
  readonly silenceMs: number;
  readonly tally: Tally;
}

/** Until the signal. */
export async function playHost(options: HostOptions, signal: AbortSignal): Promise<void> {
  const { fleet, replicaId, phase, silenceMs, tally } = options;
  let sequence = 0;
  let calls = 0;
  const say = async (
    what: string,
    call: (at: {
      readonly replicaId: string;
      readonly requestId: string;
      readonly previousSequence: number;
    }) => Promise<LifecycleAnswer>,
  ): Promise<LifecycleAnswer['kind']> => {
    calls += 1;
    const answer = await call({
      ...{ replicaId, requestId: `bench-${calls}`, previousSequence: sequence },
    });
    if ('sequence' in answer) sequence = answer.sequence;
    tally.note(what, answer.kind);
    return answer.kind;
  };
  const register = () => say('register', (at) => fleet.register({ ...at, storeEpoch: 'epoch-1' }));
  for (let beat = phase; !signal.aborted; beat += 1) {
    if (beat % SILENT_EVERY === 0) {
      await pause(silenceMs, signal);
    } else if (beat % DRAINS_EVERY === 0) {
      await say('drain', (at) => fleet.drain(at));
      await pause(2 * BEAT_MS, signal);
      await register();
    } else {
      const kind = await say('heartbeat', (at) => fleet.heartbeat({ ...at, healthy: true }));
      if (kind === 'must_register') await register();
    }
    await pause(BEAT_MS, signal);
  }
}

/** Ends early with the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}
