/** Waybill's own processes under `waybill up`: real ones, as they would run anywhere else. */
import path from 'node:path';
import { WaybillError } from '../../domain/errors';
import { embeddedServer, type EmbeddedServer } from '../embedded/embedded-server';
import { requireFreePort } from '../embedded/ports';
import type { Launch } from './launch';
import type { ServerName } from './running-servers';
import { logFile, recordFile } from './state-files';
import { localUrl, portWish, type LocalPort } from './settings';
import type { Step } from './steps';

export interface ProcessDefinition {
  readonly name: ServerName;
  /** For people. */
  readonly title: string;
  /** Arguments of `waybill`. */
  readonly args: readonly string[];
  readonly port: LocalPort;
}

const PROGRAM = path.join(__dirname, '..', '..', '..', 'bin', 'waybill.js');
const READY_TIMEOUT_MS = 60_000;
/**
 * Longer than the grace of a worker under `up`. When all ends at once, because `up` was killed, a
 * worker would wait much longer for a Temporal server that is gone.
 */
const STOP_TIMEOUT_MS = 8_000;
const PROBE_TIMEOUT_MS = 2_000;

/**
 * All at once; resolves when each is ready. Each writes `logs/<name>.log` of the home folder.
 * @returns them in the order of their definitions
 */
export async function startProcesses(
  launch: Launch,
  definitions: readonly ProcessDefinition[],
  env: Readonly<Record<string, string>>,
): Promise<readonly EmbeddedServer[]> {
  const started = new Map<ProcessDefinition, EmbeddedServer>();
  await launch.together(
    definitions.map((definition): Step => {
      const work: Step['work'] = async (note) => {
        const process = await startProcess(launch, definition, { env, note });
        launch.servers.add(definition.name, process);
        started.set(definition, process);
      };
      return { title: definition.title, work };
    }),
  );
  return definitions.flatMap((definition) => started.get(definition) ?? []);
}

/**
 * Starts one under a guard, so that it never outlives us.
 * @throws WaybillError `port_in_use`, or `server_start_failed` with what the process said last
 */
async function startProcess(
  { settings }: Launch,
  definition: ProcessDefinition,
  more: {
    readonly env: Readonly<Record<string, string>>;
    readonly note: (line: string) => void;
  },
): Promise<EmbeddedServer> {
  const { name, title, args, port } = definition;
  const server = embeddedServer({
    title,
    prepare: () => requireFreePort(portWish(port, settings.ports[port])),
    spec: () => ({
      name,
      command: process.execPath,
      args: [PROGRAM, ...args],
      env: more.env,
      cwd: process.cwd(),
      logFile: logFile(settings.home, name),
      recordFile: recordFile(settings.home, name),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
    }),
    isReady: () => isReady(`${localUrl(settings, port)}/ready`),
    readyTimeoutMs: READY_TIMEOUT_MS,
    log: more.note,
  });
  await server.start().catch((error: unknown) => {
    throw ownWords(title, error);
  });
  return server;
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

/**
 * A process of ours that fails ends with one line that says why: that is all one needs to read. Of
 * one that hangs, the log has the rest.
 */
function ownWords(title: string, error: unknown): unknown {
  if (!(error instanceof WaybillError) || error.code !== 'server_start_failed') return error;
  const said = error.message.match(/^ *waybill: .*$/gm)?.at(-1);
  const reason = said === undefined ? error.message.split(';', 1)[0] : said.trim().slice(9);
  const words = said === undefined ? (reason ?? '') : `${title} did not start: ${reason ?? ''}`;
  return new WaybillError(error.code, words, { cause: error });
}
