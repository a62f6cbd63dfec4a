/**
 * The program between us and a foreign server, so that the server never outlives us: it runs the
 * server as its child, and when the channel to its parent closes, for whatever reason (SIGKILL
 * included), it stops the server and ends. It also writes the server's output to a bounded file.
 *
 * It leads a process group of its own: a Ctrl-C in the terminal reaches the parent alone, which
 * stops its servers in the right order.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { rmSync } from 'node:fs';
import { BoundedLog } from './bounded-log';
import type { FromGuard, GuardSpec, ToGuard } from './guard-protocol';
import { identityOf, processState } from './process-identity';
import { writeRecord } from './process-record';

const LOG_BYTES = 8 * 1024 * 1024;
/** Descendants of a killed server may hold its output open; its last words come well before. */
const LAST_OUTPUT_MS = 200;

let server: { readonly child: ChildProcess; readonly spec: GuardSpec } | undefined;
let stopping = false;
let ended = false;

process.on('message', (message) => {
  const request = message as ToGuard;
  switch (request.type) {
    case 'start':
      start(request.spec);
      break;
    case 'stop':
      stop();
      break;
    case 'kill':
      server?.child.kill(request.signal);
      break;
  }
});
process.on('disconnect', stop);
process.on('SIGTERM', stop);
process.on('SIGINT', stop);
process.on('SIGHUP', stop);

function start(spec: GuardSpec): void {
  const log = new BoundedLog(spec.logFile, LOG_BYTES);
  const child = spawn(spec.command, spec.args, {
    cwd: spec.cwd,
    env: spec.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...spec.user,
  });
  server = { child, spec };
  const keep = (chunk: Buffer) => {
    log.write(chunk);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  child.once('error', (error) => {
    end({ type: 'failed', message: error.message });
  });
  child.once('spawn', () => {
    started(child, spec);
  });
  child.once('exit', (code, signal) => {
    ended = true;
    rmSync(spec.recordFile, { force: true });
    const report = () => {
      end({ type: 'exited', report: { code, signal, tail: log.lastLines(12) } });
    };
    child.once('close', report);
    setTimeout(report, LAST_OUTPUT_MS);
  });
}

function started(child: ChildProcess, spec: GuardSpec): void {
  const pid = child.pid;
  if (pid === undefined) return;
  try {
    record(pid, spec);
  } catch (error) {
    // One that ended at once needs no record: its exit, with its last words, is reported next.
    if (processState(pid).alive) {
      // Without a record nobody could find the server again after a crash.
      child.kill('SIGKILL');
      send({ type: 'failed', message: error instanceof Error ? error.message : String(error) });
      return;
    }
  }
  send({ type: 'started', pid });
}

function record(pid: number, spec: GuardSpec): void {
  writeRecord(spec.recordFile, {
    name: spec.name,
    pid,
    identity: identityOf(pid),
    guardPid: process.pid,
    guardIdentity: identityOf(process.pid),
    stopSignal: spec.stopSignal,
    stopTimeoutMs: spec.stopTimeoutMs,
  });
}

function stop(): void {
  if (stopping) return;
  stopping = true;
  if (server === undefined) process.exit(0);
  // The report of its end is on the way and ends this process.
  if (ended) return;
  const { child, spec } = server;
  child.kill(spec.stopSignal);
  setTimeout(() => child.kill('SIGKILL'), spec.stopTimeoutMs);
}

function send(message: FromGuard): void {
  if (process.connected) process.send?.(message);
}

function end(message: FromGuard): void {
  if (!process.connected) process.exit(0);
  process.send?.(message, () => process.exit(0));
}
