/**
 * Python programs that tests run: an environment of its own below node_modules, made once for each
 * state of python-requirements.txt with what that file pins. Needs python3 with `venv`.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { acquireInstanceLock } from '../../src/workers/embedded/instance-lock';
import { until } from './until';

const run = promisify(execFile);

const REQUIREMENTS = path.join(__dirname, 'python-requirements.txt');
const CACHE = path.join(__dirname, '../../node_modules/.cache/waybill-python');
const STEP_MS = 180_000;

let made: Promise<string> | undefined;

/**
 * The absolute path of a program of the environment, such as `python` or `schemathesis`.
 * @throws Error with what pip said, where the environment cannot be made
 */
export async function pythonProgram(name: string): Promise<string> {
  made ??= environment();
  return path.join(await made, 'bin', name);
}

/** Its programs name the folder that they were installed in, so it is never moved. */
async function environment(): Promise<string> {
  const digest = createHash('sha256')
    .update(CACHE)
    .update(readFileSync(REQUIREMENTS))
    .digest('hex');
  const folder = path.join(CACHE, digest.slice(0, 16));
  const ready = path.join(folder, 'ready');
  if (existsSync(ready)) return ready;
  await mkdir(folder, { recursive: true });
  // One of the processes that want it makes it, which takes a quarter of a minute; the others wait.
  const turn = await until(
    'the environment of Python programs',
    async () => {
      if (existsSync(ready)) return { release: () => undefined };
      return await acquireInstanceLock(folder).catch(() => undefined);
    },
    2 * STEP_MS,
  );
  try {
    if (!existsSync(ready)) await make(folder, ready);
  } finally {
    turn.release();
  }
  return ready;
}

async function make(folder: string, ready: string): Promise<void> {
  const own = path.join(folder, `made-by-${String(process.pid)}`);
  await rm(own, { recursive: true, force: true });
  await run('python3', ['-m', 'venv', own], { timeout: STEP_MS });
  const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check'];
  await run(path.join(own, 'bin/python'), [...install, '-r', REQUIREMENTS], { timeout: STEP_MS });
  await symlink(path.basename(own), ready);
}
