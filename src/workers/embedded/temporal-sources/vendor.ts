import { fork } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { compiledPath } from '../compiled';
import { withFetchFolder } from '../temporal-cache';
import { release } from '../temporal-release';
import { adopt, type SearchContext, type SourceAnswer } from './source';

/** No byte for this long means that the network swallows what we send. */
const STALL_MS = 15_000;

/**
 * The vendor's own download, through the SDK. It runs in a child process, because the SDK's native
 * runtime is one a process and cannot be told to give up.
 */
export async function fromVendor(context: SearchContext): Promise<SourceAnswer> {
  const { version } = release;
  context.progress(`fetching the Temporal CLI ${version} from its vendor`);
  return withFetchFolder(context.cacheFolder, async (folder) => {
    const reason = await download(folder, `v${version}`, context.env);
    if (reason !== undefined) return { found: false, reason };
    return adopt(context, version, join(folder, `temporal-v${version}`));
  });
}

function download(
  folder: string,
  version: string,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const child = fork(compiledPath('vendor-download'), [folder, version], {
    env,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  return new Promise((resolve) => {
    let reason: string | undefined = 'the download ended without an answer';
    let size = 0;
    let growthAt = performance.now();
    const watch = setInterval(() => {
      const now = sizeOf(folder);
      if (now > size) growthAt = performance.now();
      size = now;
      if (performance.now() - growthAt < STALL_MS) return;
      reason = `nothing came within ${STALL_MS / 1000} s`;
      child.kill('SIGKILL');
    }, 250);
    child.on('message', (message) => {
      reason = (message as { reason?: string }).reason;
    });
    child.once('error', (error) => {
      reason = error.message;
    });
    child.once('close', () => {
      clearInterval(watch);
      resolve(reason);
    });
  });
}

function sizeOf(folder: string): number {
  let size = 0;
  for (const name of readdirSync(folder)) {
    size += statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return size;
}
