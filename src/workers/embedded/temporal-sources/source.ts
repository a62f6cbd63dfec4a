import { addToCache, type CachedExecutable } from '../temporal-cache';

/** What a source may use. */
export interface SearchContext {
  readonly env: NodeJS.ProcessEnv;
  /** `bin` below the state folder. */
  readonly cacheFolder: string;
  readonly progress: (message: string) => void;
}

export type SourceAnswer =
  | { readonly found: true; readonly version: string; readonly executable: CachedExecutable }
  | { readonly found: false; readonly reason: string };

/** One way to get a Temporal CLI. */
export interface TemporalSource {
  readonly name: string;
  /** True for one that needs the network and time: its failure is worth telling at once. */
  readonly fetches: boolean;
  readonly find: (context: SearchContext) => Promise<SourceAnswer>;
}

/** Takes what a source fetched into the cache, if its hash is right. */
export async function adopt(
  context: SearchContext,
  version: string,
  fetched: string,
): Promise<SourceAnswer> {
  const answer = await addToCache(context.cacheFolder, version, fetched);
  return answer.kind === 'found'
    ? { found: true, version, executable: answer.executable }
    : { found: false, reason: answer.reason };
}
