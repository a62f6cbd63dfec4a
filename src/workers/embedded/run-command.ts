import { execFile } from 'node:child_process';

export interface CommandOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly timeoutMs: number;
  /** Another OS user to run it as. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

export type CommandResult =
  | { readonly ok: true; readonly stdout: string }
  | { readonly ok: false; readonly missing: boolean; readonly reason: string };

/**
 * Runs one short command to its end. A failure is an answer, not an exception: `missing` when there
 * is no such program, else `reason` is the last line it wrote to its error output.
 */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  const settings = {
    // Ours may be a folder that the other user cannot enter.
    cwd: '/',
    env: options.env,
    timeout: options.timeoutMs,
    maxBuffer: 16 * 1024 * 1024,
    ...options.user,
  };
  return new Promise((resolve) => {
    execFile(command, args, settings, (error, stdout, stderr) => {
      if (error === null) {
        resolve({ ok: true, stdout });
      } else if (error.code === 'ENOENT') {
        resolve({ ok: false, missing: true, reason: `${command} is not installed` });
      } else {
        resolve({ ok: false, missing: false, reason: reasonOf(error, stderr, options.timeoutMs) });
      }
    });
  });
}

function reasonOf(error: Error & { killed?: boolean }, stderr: string, timeoutMs: number): string {
  if (error.killed === true) return `gave up after ${Math.round(timeoutMs / 1000)} s`;
  const lines = stderr.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1)?.trim() ?? error.message;
}
