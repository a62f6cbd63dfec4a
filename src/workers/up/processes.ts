/** Waybill's own processes under `waybill up`: real ones, as they would run anywhere else. */
import path from 'node:path';
import { WaybillError } from '../../domain/errors';
import { embeddedServer, type EmbeddedServer } from '../embedded/embedded-server';
import { requireFreePort } from '../embedded/ports';
import type { Launch } from './launch';
import { logFile, recordFile } from './state-files';
import { localUrl, portWish, type LocalPort } from './settings';
import type { Step } from './steps';

interface ProcessDefinition {
  readonly name: 'receiver' | 'api' | 'worker';
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

/** All at once; resolves when each is ready. Each writes `logs/<name>.log` of the home folder. */
export async function startProcesses(
  launch: Launch,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const { receiver } = launch.settings.ports;
  const definitions: readonly ProcessDefinition[] = [
    { name: 'receiver', args: ['demo-receiver', '--port', String(receiver)], port: 'receiver' },
    { name: 'api', args: ['api'], port: 'api' },
    { name: 'worker', args: ['worker'], port: 'health' },
  ];
  await launch.together(
    definitions.map((definition): Step => {
      const work: Step['work'] = async (note) => {
        const process = await startProcess(launch, definition, { env, note });
        launch.servers.add(definition.name, process);
      };
      return { title: titleOf(definition), work };
    }),
  );
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
  const { name, args, port } = definition;
  const server = embeddedServer({
    title: titleOf(definition),
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
    throw ownWords(titleOf(definition), error);
  });
  return server;
}

function titleOf({ name, args }: ProcessDefinition): string {
  return `waybill ${args[0] ?? name}`;
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
