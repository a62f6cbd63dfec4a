import type { ResolvedSecret, SecretProvider } from './provider';

export interface SecretCacheOptions {
  /** How long a value is used without reading it again: the longest delay of a rotation. */
  readonly ttlMs: number;
  /** How long it is remembered that one could not be read; absent: not at all. */
  readonly failureTtlMs?: number;
  /** A clock that only goes forward, in ms. */
  readonly nowMs: () => number;
  /** Most references that are held; the oldest one makes room. */
  readonly maxEntries?: number;
}

interface Entry {
  readonly secret: Promise<ResolvedSecret>;
  /** On the clock: read again from then on. */
  endsAtMs: number;
}

/**
 * Keeps what a provider answered for a short time. Simultaneous calls read once; a failure is kept
 * shorter, and an old value is never used in its place.
 */
export function cachedSecrets(
  provider: SecretProvider,
  { ttlMs, failureTtlMs = 0, nowMs, maxEntries = 1000 }: SecretCacheOptions,
): SecretProvider {
  const entries = new Map<string, Entry>();

  function read(ref: string): Promise<ResolvedSecret> {
    const entry: Entry = { secret: provider.resolve(ref), endsAtMs: nowMs() + ttlMs };
    entries.delete(ref);
    entries.set(ref, entry);
    // A value that took long is as old as its reading; a failure counts from when it was known.
    entry.secret.catch(() => {
      entry.endsAtMs = nowMs() + failureTtlMs;
    });
    for (const oldest of entries.keys()) {
      if (entries.size <= maxEntries) break;
      entries.delete(oldest);
    }
    return entry.secret;
  }

  return {
    resolve(ref) {
      const entry = entries.get(ref);
      return entry && nowMs() < entry.endsAtMs ? entry.secret : read(ref);
    },
  };
}
