import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WaybillError } from '../../domain/errors';
import type { ExitReport, GuardSpec } from './guard-protocol';
import { startGuarded, type GuardedProcess } from './guarded-process';
import { pollUntil } from './poll';
import { endLeftOver } from './process-record';

/** A foreign server that we run: the same object is started, stopped and killed many times. */
export interface EmbeddedServer {
  /** Of the server itself, while it runs. */
  readonly pid: number | undefined;
  /** Starts it on the same ports and files as before and resolves when it serves. */
  start(): Promise<void>;
  /** Ends it in an orderly way, by force when that takes too long. */
  stop(): Promise<void>;
  /** For tests and demonstrations of faults: one signal, resolved when the server is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Called once when the server ends though nobody here asked for it. */
  onLost(listener: (report: ExitReport) => void): void;
}

export interface ServerDefinition {
  readonly title: string;
  /** Prepares folders and checks ports; called before every start. */
  readonly prepare: () => Promise<void>;
  readonly spec: () => GuardSpec;
  /** True when the running server serves. */
  readonly isReady: (pid: number) => Promise<boolean>;
  readonly readyTimeoutMs: number;
  /** True for an early end that passes by itself, so that another try makes sense. */
  readonly isPassing?: (report: ExitReport) => boolean;
  readonly log: (line: string) => void;
}

const POLL_INTERVAL_MS = 25;

/** Gives a definition its life cycle. Failures to start are `server_start_failed`. */
export function embeddedServer(definition: ServerDefinition): EmbeddedServer {
  let running: GuardedProcess | undefined;
  const listeners: ((report: ExitReport) => void)[] = [];
  const end = async (how: (server: GuardedProcess) => Promise<ExitReport>) => {
    const server = running;
    running = undefined;
    if (server !== undefined) await how(server);
  };
  return {
    get pid() {
      return running?.pid;
    },
    async start() {
      if (running !== undefined) return;
      const spec = definition.spec();
      mkdirSync(dirname(spec.logFile), { recursive: true });
      mkdirSync(dirname(spec.recordFile), { recursive: true });
      if ((await endLeftOver(spec.recordFile)) === 'ended') {
        definition.log(`${definition.title} was still running from before and has been stopped`);
      }
      await definition.prepare();
      const server = await startUntilReady(definition);
      running = server;
      void server.exited.then((report) => {
        if (running !== server) return;
        running = undefined;
        for (const listener of listeners) listener(report);
      });
    },
    stop: () => end((server) => server.stop()),
    kill: (signal) => end((server) => server.kill(signal)),
    onLost: (listener) => {
      listeners.push(listener);
    },
  };
}

async function startUntilReady(definition: ServerDefinition): Promise<GuardedProcess> {
  const deadline = performance.now() + definition.readyTimeoutMs;
  for (;;) {
    const server = await startGuarded(definition.spec()).catch((error: unknown) => {
      throw failure(definition, messageOf(error), []);
    });
    const outcome = await readyOrGone(definition, server, deadline);
    if (outcome === 'ready') return server;
    if (outcome === 'late') {
      const report = await server.stop();
      const seconds = Math.round(definition.readyTimeoutMs / 1000);
      throw failure(definition, `it did not serve within ${seconds} s`, report.tail);
    }
    const passing = definition.isPassing?.(outcome) === true && performance.now() < deadline;
    if (!passing) {
      const how = outcome.signal ?? `code ${outcome.code ?? 'unknown'}`;
      throw failure(definition, `it ended with ${how}`, outcome.tail);
    }
    await delay(POLL_INTERVAL_MS * 4);
  }
}

async function readyOrGone(
  definition: ServerDefinition,
  server: GuardedProcess,
  deadline: number,
): Promise<'ready' | 'late' | ExitReport> {
  const gone = new AbortController();
  const exited = server.exited.then((report) => {
    gone.abort();
    return report;
  });
  const polled = pollUntil(() => definition.isReady(server.pid), {
    timeoutMs: deadline - performance.now(),
    intervalMs: POLL_INTERVAL_MS,
    signal: gone.signal,
  }).then((ready) => (ready ? ('ready' as const) : ('late' as const)));
  try {
    return await Promise.race([exited, polled]);
  } catch (error) {
    const report = await server.stop();
    throw failure(definition, messageOf(error), report.tail);
  }
}

function failure(
  definition: ServerDefinition,
  reason: string,
  tail: readonly string[],
): WaybillError {
  const { logFile } = definition.spec();
  const words = tail.length === 0 ? '' : `; its last lines:\n  ${tail.join('\n  ')}\n`;
  return new WaybillError(
    'server_start_failed',
    `${definition.title} did not start: ${reason} (log: ${logFile})${words}`,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
