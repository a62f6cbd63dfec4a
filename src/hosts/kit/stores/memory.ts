/** A store without a disk, for tests of a connector: a restart is a new epoch. */
import { randomUUID } from 'node:crypto';
import type { ActionRecord, ActionRef, HostStore } from '../store';
import { settled } from './settled';

export function memoryStore(nowMs: () => number = Date.now): HostStore {
  const records = new Map<
    string,
    { readonly record: ActionRecord; readonly changedAtMs: number }
  >();
  const tokens = new Map<string, number>();
  let sequence = 0;
  return {
    epoch: randomUUID(),
    update: (ref, token, decide) =>
      settled(() => {
        const used = token !== null && tokens.has(token.jti);
        const change = decide(records.get(keyOf(ref))?.record ?? null, used);
        if (token !== null) tokens.set(token.jti, token.expiresAtMs);
        if (change.record !== null) {
          records.set(keyOf(ref), { record: change.record, changedAtMs: nowMs() });
        }
        return change.answer;
      }),
    read: (ref) => Promise.resolve(records.get(keyOf(ref))?.record ?? null),
    lifecycleSequence: () => Promise.resolve(sequence),
    rememberLifecycleSequence(accepted) {
      sequence = accepted;
      return Promise.resolve();
    },
    prune({ nowMs: now, changedBeforeMs, limit }) {
      const expired = [...tokens].filter(([, expiresAtMs]) => expiresAtMs < now).slice(0, limit);
      for (const [jti] of expired) tokens.delete(jti);
      const old = [...records]
        .filter(([, { record, changedAtMs }]) => {
          return record.state !== 'intent' && changedAtMs < changedBeforeMs;
        })
        .slice(0, limit);
      for (const [key] of old) records.delete(key);
      return Promise.resolve(old.length);
    },
    close: () => Promise.resolve(),
  };
}

function keyOf({ tenant, action }: ActionRef): string {
  return JSON.stringify([tenant, action]);
}
