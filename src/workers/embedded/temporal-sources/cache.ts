import { readCache } from '../temporal-cache';
import { goRelease, release } from '../temporal-release';
import type { SearchContext, SourceAnswer } from './source';

/** What an earlier start fetched or built, if its hash is still right. */
export async function fromCache(context: SearchContext): Promise<SourceAnswer> {
  const reasons: string[] = [];
  for (const version of [release.version, goRelease.version]) {
    const answer = await readCache(context.cacheFolder, version);
    if (answer.kind === 'found') return { found: true, version, executable: answer.executable };
    if (answer.kind !== 'refused') continue;
    context.progress(answer.reason);
    reasons.push(answer.reason);
  }
  return { found: false, reason: reasons.length === 0 ? 'empty' : reasons.join('; ') };
}
