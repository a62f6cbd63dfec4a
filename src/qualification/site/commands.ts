/** Commands of Waybill that a run gives, each as a process of its own. */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { PROGRAM } from './plans';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const COMMAND_TIMEOUT_MS = 120_000;

/** Runs it to its end with this environment and nothing else. */
export async function waybillCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<Finished> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    ...{ cwd, env, timeout: COMMAND_TIMEOUT_MS, killSignal: 'SIGKILL' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}

/** @throws Error with what it said, where it failed */
export async function mustSucceed(finished: Promise<Finished>, what: string): Promise<Finished> {
  const answer = await finished;
  if (answer.code === 0) return answer;
  throw new Error(
    `${what} ended with ${String(answer.code)}: ${answer.stderr.trim().slice(-2000)}`,
  );
}
