import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { runCommand } from '../run-command';
import { sha256Of } from '../temporal-cache';
import type { SearchContext, SourceAnswer } from './source';

/** The oldest server inside a CLI that knows the settings which Waybill starts it with. */
const OLDEST_SERVER = { major: 1, minor: 29 };

/** The executable that the user named; relative paths count from the working directory. */
export function fromSetting(named: string, context: SearchContext): Promise<SourceAnswer> {
  return inspect(resolve(named), context.env);
}

/** The first `temporal` on PATH. */
export async function fromPath(context: SearchContext): Promise<SourceAnswer> {
  const folders = (context.env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => isAbsolute(folder));
  const path = folders.map((folder) => join(folder, 'temporal')).find(isExecutable);
  if (path === undefined) return { found: false, reason: 'there is no "temporal" on it' };
  return inspect(path, context.env);
}

async function inspect(path: string, env: NodeJS.ProcessEnv): Promise<SourceAnswer> {
  if (!isExecutable(path)) return { found: false, reason: `${path} is not an executable file` };
  const result = await runCommand(path, ['--version'], { env, timeoutMs: 20_000 });
  if (!result.ok) return { found: false, reason: `${path} does not run: ${result.reason}` };
  const told = /^temporal version (\S+) \(Server ((\d+)\.(\d+)\S*),/m.exec(result.stdout);
  const [, version, server, major, minor] = told ?? [];
  if (version === undefined) {
    return { found: false, reason: `${path} does not tell the version of a Temporal CLI` };
  }
  // A build from source does not know its own version, but always that of its server.
  if (isOld(Number(major), Number(minor))) {
    return { found: false, reason: `${path} holds server ${server ?? ''}, which is too old` };
  }
  const sha256 = await sha256Of(path);
  return { found: true, version, executable: { path, sha256, verified: 'user-supplied' } };
}

function isOld(major: number, minor: number): boolean {
  const { major: oldestMajor, minor: oldestMinor } = OLDEST_SERVER;
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
