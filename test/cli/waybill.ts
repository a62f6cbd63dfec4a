/**
 * The command line as a person runs it: a real process of the build, with an environment of its own.
 * Commands that end by themselves and read no input share one.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Harness } from '../http/harness';
import { OneProcess, type Finished } from './one-process';

const ROOT = path.join(__dirname, '..', '..');
export const PROGRAM = path.join(ROOT, 'bin', 'waybill.js');
export const EXAMPLE_FLEET = path.join(ROOT, 'examples', 'fleet.yaml');

export type Environment = Readonly<Record<string, string>>;

const folders: string[] = [];
const shared = new OneProcess(ROOT);
/** What runs on, starts processes, or ends in its own way. */
const LONG_RUNNING = new Set(['up', 'api', 'worker', 'host', 'qualify', 'conformance']);

/** A new home folder that Postgres can enter, whoever it runs as. */
export function newHome(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'waybill-cli-'));
  chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** What a command needs to ask this server, with a token of these scopes. */
export async function environmentOf(h: Harness, ...scopes: string[]): Promise<Environment> {
  const token = await h.token({ scopes });
  return { WAYBILL_HOME: newHome(), WAYBILL_API_URL: h.url, WAYBILL_TOKEN: token };
}

/** After the last test of a file. */
export function removeHomes(): void {
  shared.end();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Whoever runs the tests may have settings of their own, which must not count. */
function environmentWith(env: Environment): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(WAYBILL_|TEMPORAL_|DATABASE_URL$)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...env };
}

/**
 * Starts it.
 * @param program of another build than this one
 */
export function startWaybill(
  args: readonly string[],
  env: Environment,
  program = PROGRAM,
): ChildProcess {
  return spawn(process.execPath, [program, ...args], {
    cwd: ROOT,
    env: environmentWith(env),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Resolves when it has ended, with all that it said. */
export async function finished(child: ChildProcess): Promise<Finished> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('the process has no output');
  const [out, err, code] = await Promise.all([
    text(stdout),
    text(stderr),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  return { code, stdout: out, stderr: err };
}

/** Runs one command to its end. */
export function waybill(
  args: readonly string[],
  env: Environment = { WAYBILL_HOME: newHome() },
  input = '',
): Promise<Finished> {
  const [command = ''] = args;
  if (input === '' && (!LONG_RUNNING.has(command) || args.includes('--help')))
    return shared.run(args, environmentWith(env));
  const child = startWaybill(args, env);
  // One that fails at once does not read it.
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  return finished(child);
}

export interface Failure {
  /** Without the program's name before it and the code behind it. */
  readonly message: string;
  readonly code: string | null;
}

/** The failure of a command that said one line on standard error and nothing else there. */
export function failureOf({ code, stderr }: Finished): Failure {
  const lines = stderr.trimEnd().split('\n');
  if (code === 0 || lines.length !== 1) throw new Error(`no plain failure: ${code} ${stderr}`);
  return failureIn(lines[0] ?? '');
}

/** The failure in the last line of what a command has said. */
export function lastFailureOf({ code, stderr }: Finished): Failure {
  const last = stderr.trimEnd().split('\n').at(-1) ?? '';
  if (code === 0) throw new Error(`it did not fail: ${last}`);
  return failureIn(last);
}

function failureIn(line: string): Failure {
  const [, message, code] = /^waybill: (.*?)(?: \(([a-z_]+)\))?$/.exec(line) ?? [];
  if (message === undefined) throw new Error(`no failure of ours: ${line}`);
  return { message, code: code ?? null };
}
