import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { platform } from 'node:os';

/**
 * What is known of a process id now. `identity` names one process for ever (a pid is reused, its
 * start time on one boot is not); it is absent where the system hides other users' processes.
 */
export type ProcessState =
  { readonly alive: false } | { readonly alive: true; readonly identity: string | undefined };

/** Looks a process up. A zombie counts as dead: it holds no port, lock or file any more. */
export function processState(pid: number): ProcessState {
  if (!exists(pid)) return { alive: false };
  const seen = platform() === 'linux' ? linuxState(pid) : posixState(pid);
  if (seen === undefined) return { alive: true, identity: undefined };
  return seen.zombie ? { alive: false } : { alive: true, identity: seen.identity };
}

/** The identity of this process or of a child just started; throws when it is already gone. */
export function identityOf(pid: number): string {
  const state = processState(pid);
  if (!state.alive || state.identity === undefined) {
    throw new Error(`process ${pid} ended before it could be recorded`);
  }
  return state.identity;
}

/** True only when `pid` is still the very process that `identity` was taken from. */
export function isSameProcess(pid: number, identity: string): boolean {
  const state = processState(pid);
  return state.alive && state.identity === identity;
}

interface Seen {
  readonly zombie: boolean;
  readonly identity: string;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is such a process, of another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function linuxState(pid: number): Seen | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name is in parentheses and may hold spaces: count fields after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const startTicks = fields[19];
    if (startTicks === undefined) return undefined;
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return { zombie: fields[0] === 'Z' || fields[0] === 'X', identity: `${boot}:${startTicks}` };
  } catch {
    return undefined;
  }
}

function posixState(pid: number): Seen | undefined {
  try {
    const line = execFileSync('ps', ['-o', 'stat=', '-o', 'lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
    }).trim();
    const gap = line.indexOf(' ');
    return gap < 0
      ? undefined
      : { zombie: line.startsWith('Z'), identity: line.slice(gap + 1).trim() };
  } catch {
    return undefined;
  }
}
