import type { ResolvedSecret, SecretProvider } from './provider';

export interface SecretCacheOptions {
  /** How long a value is used without reading it again: the longest delay of a rotation. */
  readonly ttlMs: number;
  /** A clock that only goes forward, in ms. */
  readonly nowMs: () => number;
  /** Most references that are held; the oldest one makes room. */
  readonly maxEntries?: number;
}

interface Entry {
  readonly secret: Promise<ResolvedSecret>;
  readonly readAtMs: number;
}

/**
 * Keeps what a provider answered for a short time. Simultaneous calls read once; a failure is not
 * kept, and an old value is never used in its place.
 */
export function cachedSecrets(
  provider: SecretProvider,
  { ttlMs, nowMs, maxEntries = 1000 }: SecretCacheOptions,
): SecretProvider {
  const entries = new Map<string, Entry>();

  function read(ref: string): Promise<ResolvedSecret> {
    const entry = { secret: provider.resolve(ref), readAtMs: nowMs() };
    entries.delete(ref);
    entries.set(ref, entry);
    entry.secret.catch(() => {
      if (entries.get(ref) === entry) entries.delete(ref);
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
      return entry && nowMs() - entry.readAtMs < ttlMs ? entry.secret : read(ref);
    },
  };
}
