import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../run-command';
import { withFetchFolder } from '../temporal-cache';
import { goRelease } from '../temporal-release';
import { adopt, type SearchContext, type SourceAnswer } from './source';

const BUILD_TIMEOUT_MS = 1_800_000;
const PROGRESS_INTERVAL_MS = 15_000;

/**
 * Builds the CLI from source. Go checks every module against its checksum database, which is the
 * only check there can be for a build of one's own: with that database off it is not done.
 */
export async function fromGo(context: SearchContext): Promise<SourceAnswer> {
  const { version, packagePath } = goRelease;
  // "none" matches no module: none is exempt from the check.
  const env = { ...context.env, GONOSUMDB: 'none' };
  const database = await runCommand('go', ['env', 'GOSUMDB'], { env, timeoutMs: 20_000 });
  if (!database.ok) return { found: false, reason: database.reason };
  if (database.stdout.trim() === 'off') {
    return { found: false, reason: 'GOSUMDB is off, so that a build could not be verified' };
  }
  return withFetchFolder(context.cacheFolder, async (folder) => {
    const stopProgress = reportProgress(context.progress);
    const result = await runCommand('go', ['install', `${packagePath}@v${version}`], {
      env: { ...env, GOBIN: folder },
      timeoutMs: BUILD_TIMEOUT_MS,
    }).finally(stopProgress);
    if (!result.ok) return { found: false, reason: result.reason };
    const built = join(folder, 'temporal');
    if (!existsSync(built)) return { found: false, reason: 'the build made no executable' };
    return adopt(context, version, built);
  });
}

function reportProgress(progress: (message: string) => void): () => void {
  const began = performance.now();
  progress(`building the Temporal CLI ${goRelease.version} with Go (about 3 minutes)`);
  const timer = setInterval(() => {
    progress(`still building (${Math.round((performance.now() - began) / 1000)} s)`);
  }, PROGRESS_INTERVAL_MS);
  return () => {
    clearInterval(timer);
  };
}
