/** Child processes of a benchmark: Waybill's own from the build, and the floors beside them. */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, openSync, closeSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { request } from 'undici';
import { pollUntil } from '../src/workers/embedded/poll';

/** The project, seen from the compiled file. */
const ROOT = path.join(__dirname, '..', '..');
const WAYBILL = path.join(ROOT, 'bin', 'waybill.js');
const STOP_PATIENCE_MS = 30_000;
const READY_PATIENCE_MS = 60_000;

/** Scripts of this folder that are processes of their own. */
export type Script = 'floors/accept' | 'floors/worker' | 'floors/no-op' | 'hosts/null';

export interface ProcessOptions {
  readonly env: Readonly<Record<string, string>>;
  /** Takes all that it prints: logging costs what it costs in production, a pipe would cost more. */
  readonly logFile: string;
}

export interface BenchProcess {
  readonly pid: number;
  /** Asks it to end, and forces it after a while. */
  stop(): Promise<void>;
}

/** A Waybill process that answers 200 at `readyUrl`. */
export async function startWaybill(
  args: readonly string[],
  options: ProcessOptions & { readonly readyUrl: string },
): Promise<BenchProcess> {
  return await started(spawnWaybill(args, options), args.join(' '), options);
}

/** Runs a command of the CLI to its end. */
export async function runWaybill(args: readonly string[], options: ProcessOptions): Promise<void> {
  const child = spawnWaybill(args, options);
  const code = await exitOf(child);
  if (code !== 0) throw failed(`waybill ${args.join(' ')} ended with ${String(code)}`, options);
}

/**
 * A floor or host that answers 200 at `readyUrl`. It ends with this process; what it tells by
 * `process.send` goes to `onMessage`.
 */
export async function startScript(
  script: Script,
  options: ProcessOptions & {
    readonly readyUrl: string;
    readonly onMessage?: (message: unknown) => void;
  },
): Promise<BenchProcess> {
  const { onMessage } = options;
  const child = spawnNode(path.join(__dirname, `${script}.js`), [], {
    ...options,
    talks: onMessage !== undefined,
  });
  if (onMessage !== undefined) child.on('message', onMessage);
  return await started(child, script, options);
}

function spawnWaybill(args: readonly string[], options: ProcessOptions): ChildProcess {
  if (!existsSync(path.join(ROOT, 'dist', 'workflow-bundle.js'))) {
    throw new Error('there is no build: run `npm run build` first');
  }
  return spawnNode(WAYBILL, args, options);
}

/** Those that run. When this process ends out of turn, they end with it. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

function spawnNode(
  script: string,
  args: readonly string[],
  options: ProcessOptions & { readonly talks?: boolean },
): ChildProcess {
  const log = openSync(options.logFile, 'a');
  try {
    const child = spawn(process.execPath, [script, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...options.env },
      // The input is never written to: its end tells a script that this process is gone.
      stdio: ['pipe', log, log, ...(options.talks === true ? ['ipc' as const] : [])],
    });
    running.add(child);
    child.once('close', () => running.delete(child));
    return child;
  } finally {
    closeSync(log);
  }
}

async function started(
  child: ChildProcess,
  name: string,
  options: ProcessOptions & { readonly readyUrl: string },
): Promise<BenchProcess> {
  const exited = exitOf(child);
  const gone = new AbortController();
  void exited.then(() => {
    gone.abort();
  });
  const ready = await pollUntil(() => answersOk(options.readyUrl), {
    timeoutMs: READY_PATIENCE_MS,
    intervalMs: 50,
    signal: gone.signal,
  });
  const stop = async (): Promise<void> => {
    const force = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS);
    child.kill('SIGTERM');
    await exited;
    clearTimeout(force);
  };
  if (ready && child.pid !== undefined) return { pid: child.pid, stop };
  await stop();
  throw failed(`${name} did not become ready`, options);
}

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url);
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  }
}

function failed(what: string, { logFile }: ProcessOptions): Error {
  const tail = readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-12);
  return new Error(`${what}; its last lines:\n  ${tail.join('\n  ')}`);
}
