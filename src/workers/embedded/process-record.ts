import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { isSameProcess } from './process-identity';

/** A foreign server and the guard above it, as their record file names them. */
export interface ProcessRecord {
  readonly name: string;
  readonly pid: number;
  readonly identity: string;
  readonly guardPid: number;
  readonly guardIdentity: string;
  readonly stopSignal: NodeJS.Signals;
  readonly stopTimeoutMs: number;
}

/** Writes the record in one step: a reader sees all of it or none. */
export function writeRecord(path: string, record: ProcessRecord): void {
  writeFileSync(`${path}.new`, `${JSON.stringify(record)}\n`, { mode: 0o644 });
  renameSync(`${path}.new`, path);
}

/**
 * Ends the server that a killed predecessor left behind, if there is one; resolves when it is gone.
 *
 * Only the very process that was recorded is ever signalled (pid and start time); a pid that was
 * given to something else is left alone. A guard that is still at work is given its time first,
 * since it is already stopping the server in an orderly way.
 */
export async function endLeftOver(recordPath: string): Promise<'none' | 'ended'> {
  const record = readRecord(recordPath);
  if (record === undefined) return 'none';
  const serverAlive = () => isSameProcess(record.pid, record.identity);
  const guardAlive = () => isSameProcess(record.guardPid, record.guardIdentity);
  const found = serverAlive();
  if (guardAlive()) {
    signal(record.guardPid, 'SIGTERM');
    await waitWhile(() => serverAlive() || guardAlive(), record.stopTimeoutMs + 2_000);
  }
  if (serverAlive()) {
    signal(record.pid, record.stopSignal);
    await waitWhile(serverAlive, record.stopTimeoutMs);
  }
  if (serverAlive()) {
    signal(record.pid, 'SIGKILL');
    await waitWhile(serverAlive, 5_000);
  }
  rmSync(recordPath, { force: true });
  return found ? 'ended' : 'none';
}

function readRecord(path: string): ProcessRecord | undefined {
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessRecord>;
    // Guards against a file cut short by a full disk; its writer is this module alone.
    return typeof found.pid === 'number' && typeof found.guardPid === 'number'
      ? (found as ProcessRecord)
      : undefined;
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended by itself in between.
  }
}

async function waitWhile(condition: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (condition() && performance.now() < deadline) await delay(20);
}
