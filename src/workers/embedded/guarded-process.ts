import { fork, type ChildProcess } from 'node:child_process';
import { compiledPath } from './compiled';
import type { ExitReport, FromGuard, GuardSpec, ToGuard } from './guard-protocol';
import { endLeftOver } from './process-record';

/** A running foreign server under its guard. */
export interface GuardedProcess {
  readonly pid: number;
  /** Resolves once, when the server has ended; never rejects. */
  readonly exited: Promise<ExitReport>;
  /** Asks it to end; after the spec's `stopTimeoutMs` it is forced. */
  stop(): Promise<ExitReport>;
  /** Sends one signal; resolves when the server has ended. */
  kill(signal: NodeJS.Signals): Promise<ExitReport>;
}

/**
 * Starts one foreign server under a guard, which ends it when this process ends. Rejects when the
 * executable cannot be run. Neither the guard nor the server keeps this process alive.
 */
export async function startGuarded(spec: GuardSpec): Promise<GuardedProcess> {
  const guard = fork(compiledPath('guard'), [spec.name], {
    cwd: '/',
    env: { ...spec.env },
    execArgv: [],
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = exitOf(guard, spec);
  const pid = await startedPid(guard, spec);
  release(guard);
  const request = async (message: ToGuard) => {
    hold(guard);
    if (guard.connected) guard.send(message, ignoreLateSend);
    return exited;
  };
  return {
    pid,
    exited,
    stop: () => request({ type: 'stop' }),
    kill: (signal) => request({ type: 'kill', signal }),
  };
}

function startedPid(guard: ChildProcess, spec: GuardSpec): Promise<number> {
  return new Promise((resolve, reject) => {
    guard.once('error', reject);
    guard.once('exit', () => {
      reject(new Error(`the guard of ${spec.name} ended before the server began`));
    });
    guard.on('message', (message) => {
      const answer = message as FromGuard;
      if (answer.type === 'started') resolve(answer.pid);
      if (answer.type === 'failed') reject(new Error(answer.message));
    });
    const start: ToGuard = { type: 'start', spec };
    guard.send(start, ignoreLateSend);
  });
}

function exitOf(guard: ChildProcess, spec: GuardSpec): Promise<ExitReport> {
  return new Promise((resolve) => {
    let report: ExitReport | undefined;
    guard.on('message', (message) => {
      const answer = message as FromGuard;
      if (answer.type === 'exited') report = answer.report;
    });
    guard.once('exit', () => {
      if (report !== undefined) {
        resolve(report);
        return;
      }
      // The guard itself was killed: its server must not run on unwatched.
      const lost: ExitReport = { code: null, signal: null, tail: ['its guard process was killed'] };
      void endLeftOver(spec.recordFile).finally(() => {
        resolve(lost);
      });
    });
  });
}

function release(guard: ChildProcess): void {
  guard.unref();
  guard.channel?.unref();
}

function hold(guard: ChildProcess): void {
  guard.ref();
  guard.channel?.ref();
}

function ignoreLateSend(): void {
  // The guard ended in between: its exit event tells the rest.
}
