import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { GuardSpec } from '../../../src/workers/embedded/guard-protocol';
import { pollUntil } from '../../../src/workers/embedded/poll';
import { processState } from '../../../src/workers/embedded/process-identity';

const folders: string[] = [];

/** A new folder that other users can enter; `removeFolders` removes it. */
export function newFolder(mode = 0o755): string {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-embedded-'));
  chmodSync(folder, mode);
  folders.push(folder);
  return folder;
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Resolves when the process is gone; rejects when it outlives the deadline. */
export async function gone(pid: number): Promise<void> {
  const ended = await pollUntil(() => !processState(pid).alive, {
    timeoutMs: 10_000,
    intervalMs: 10,
  });
  if (!ended) throw new Error(`process ${pid} is still there`);
}

/** A server for guards: a Node program that says its pid, and ends on SIGTERM unless stubborn. */
export function toyServer(folder: string, program = 'setInterval(() => {}, 1000)'): GuardSpec {
  return {
    name: 'toy',
    command: process.execPath,
    args: ['-e', program],
    env: { PATH: process.env['PATH'] ?? '' },
    cwd: folder,
    logFile: join(folder, 'toy.log'),
    recordFile: join(folder, 'toy.json'),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 300,
  };
}

/** Another process of ours running `program`; resolves with it and the first line it prints. */
export async function runProgram(program: string): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout });
  const line = await new Promise<string>((resolve, reject) => {
    lines.once('line', resolve);
    lines.once('close', () => {
      reject(new Error('the program said nothing'));
    });
  });
  return { child, line };
}
