/** Waybill's own processes under `waybill up`: real ones, as they would run anywhere else. */
import path from 'node:path';
import { WaybillError } from '../../domain/errors';
import { embeddedServer, type EmbeddedServer } from '../embedded/embedded-server';
import { requireFreePort } from '../embedded/ports';
import { PORT_SETTINGS, type PortName } from './settings';

export interface ProcessDefinition {
  /** Names log and record. */
  readonly name: string;
  /** Arguments of `waybill`. */
  readonly args: readonly string[];
  readonly port: { readonly name: PortName; readonly number: number };
  /** Answers 200 once the process does its work. */
  readonly readyUrl: string;
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
}

const PROGRAM = path.join(__dirname, '..', '..', '..', 'bin', 'waybill.js');
const READY_TIMEOUT_MS = 60_000;
/** Longer than a worker's own grace and force times. */
const STOP_TIMEOUT_MS = 35_000;
const PROBE_TIMEOUT_MS = 2_000;

/**
 * Starts a process under a guard, so that it never outlives us, and resolves when it is ready. Its
 * output goes to `logs/<name>.log` of the home folder.
 * @throws WaybillError `port_in_use`, or `server_start_failed` with what the process said last
 */
export async function startProcess(
  definition: ProcessDefinition,
  note: (line: string) => void,
): Promise<EmbeddedServer> {
  const { name, port, home } = definition;
  const title = `waybill ${definition.args[0] ?? name}`;
  const server = embeddedServer({
    title,
    prepare: () => requireFreePort(portWish(port.name, port.number)),
    spec: () => ({
      name,
      command: process.execPath,
      args: [PROGRAM, ...definition.args],
      env: definition.env,
      cwd: process.cwd(),
      logFile: logFile(home, name),
      recordFile: recordFile(home, name),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
    }),
    isReady: () => isReady(definition.readyUrl),
    readyTimeoutMs: READY_TIMEOUT_MS,
    log: note,
  });
  await server.start().catch((error: unknown) => {
    throw ownWords(title, error);
  });
  return server;
}

export function portWish(name: PortName, port: number) {
  const wanted: Record<PortName, string> = {
    api: 'the API',
    health: "the worker's health",
    receiver: 'the demo receiver',
    postgres: 'Postgres',
    temporal: 'the Temporal server',
    temporalUi: 'the Temporal UI',
  };
  return { port, wantedBy: wanted[name], setting: PORT_SETTINGS[name].variable };
}

export function logFile(home: string, name: string): string {
  return path.join(home, 'logs', `${name}.log`);
}

export function recordFile(home: string, name: string): string {
  return path.join(home, 'run', `${name}.json`);
}

async function isReady(url: string): Promise<boolean> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

/** A process of ours ends with one line that says why: that is all one needs to read. */
function ownWords(title: string, error: unknown): unknown {
  if (!(error instanceof WaybillError)) return error;
  const said = error.message.match(/^ *waybill: .*$/gm)?.at(-1);
  if (said === undefined) return error;
  const reason = said.trim().slice('waybill: '.length);
  return new WaybillError(error.code, `${title} did not start: ${reason}`, { cause: error });
}
