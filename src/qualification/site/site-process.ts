/** One process of the deployment, under a guard that ends it when this run ends, however it ends. */
import { closeSync, existsSync, openSync, readSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Agent, request } from 'undici';
import { embeddedServer, type EmbeddedServer } from '../../workers/embedded/embedded-server';
import { pollUntil } from '../../workers/embedded/poll';
import { clockLine, CLOCK_VARIABLE } from './clock-settings';
import type { Workspace } from './workspace';
import type { ProcessName, WaybillName } from './topology';

export interface ProcessEvent {
  readonly at: string;
  readonly process: ProcessName;
  readonly event:
    | 'ready'
    | 'stopping'
    | 'stopped'
    | 'killing'
    | 'killed'
    | 'frozen'
    | 'awake'
    | 'lost'
    | 'failed to start';
  readonly pid: number | null;
  readonly detail: string | null;
}

export type NoteEvent = (event: ProcessEvent) => void;

export interface ProcessPlan {
  readonly name: WaybillName;
  /** Of Node: the script and its arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Answers 200 when it works. */
  readonly readyUrl: string;
  /** The certificate that it answers with, where it does so over TLS. */
  readonly certificate?: string;
}

export type Extra = Readonly<Record<string, string>>;

const READY_TIMEOUT_MS = 90_000;
const STOP_TIMEOUT_MS = 20_000;
const PROBE_TIMEOUT_MS = 2_000;
const MARKER_TIMEOUT_MS = 45_000;
const POLL_MS = 25;
const JUMPING_CLOCK = path.join(__dirname, 'jumping-clock.js');

/** What the run can do with any process, Postgres and Temporal included. */
export class SiteProcess {
  readonly name: ProcessName;
  readonly #server: EmbeddedServer;
  readonly #note: NoteEvent;
  /** How it ended each time that nobody had asked for it. */
  readonly lost: string[] = [];
  #closed = false;
  #frozen = false;
  #starting: Promise<void> = Promise.resolve();

  constructor(name: ProcessName, server: EmbeddedServer, note: NoteEvent) {
    this.name = name;
    this.#server = server;
    this.#note = note;
    server.onLost(({ code, signal }) => {
      const how = signal ?? `code ${code ?? 'unknown'}`;
      this.lost.push(how);
      this.#tell('lost', how);
    });
    if (server.pid !== undefined) this.#tell('ready');
  }

  get pid(): number | undefined {
    return this.#server.pid;
  }

  async start(): Promise<void> {
    if (this.#closed) throw new Error(`${this.name} is not started any more: the run ends`);
    this.#starting = this.#server.start();
    try {
      await this.#starting;
    } catch (error) {
      this.#tell('failed to start', error instanceof Error ? error.message : String(error));
      throw error;
    }
    this.#tell('ready');
  }

  /** It is never started again. */
  close(): void {
    this.#closed = true;
  }

  async stop(): Promise<void> {
    // One that is about to be there is ended, too.
    await this.#starting.catch(() => undefined);
    if (this.pid === undefined) return;
    this.#tell('stopping');
    if (this.#frozen) this.wake();
    await this.#server.stop();
    this.#tell('stopped');
  }

  async kill(): Promise<void> {
    if (this.pid === undefined) return;
    this.#tell('killing', 'SIGKILL');
    await this.#server.kill('SIGKILL');
    this.#frozen = false;
    this.#tell('killed');
  }

  /** It stands still until it is woken. */
  freeze(): void {
    this.signal('SIGSTOP');
    this.#frozen = true;
    this.#tell('frozen');
  }

  wake(): void {
    this.signal('SIGCONT');
    this.#frozen = false;
    this.#tell('awake');
  }

  protected signal(signal: NodeJS.Signals): void {
    if (this.pid === undefined) throw new Error(`${this.name} does not run`);
    process.kill(this.pid, signal);
  }

  #tell(event: ProcessEvent['event'], detail: string | null = null): void {
    const pid = this.pid ?? null;
    this.#note({ at: new Date().toISOString(), process: this.name, event, pid, detail });
  }
}

/** A process of Node, which may be told where to stand still. */
export class NodeSiteProcess extends SiteProcess {
  readonly plan: ProcessPlan;
  readonly logFile: string;
  readonly #extra: { env: Extra; clock: Extra; startedAt: number };
  readonly #clockFile: string;

  constructor(plan: ProcessPlan, workspace: Workspace, note: NoteEvent) {
    const logFile = path.join(workspace.folder('logs'), `${plan.name}.log`);
    const extra = { env: {} as Extra, clock: {} as Extra, startedAt: 0 };
    const clockFile = path.join(workspace.folder('run'), `${plan.name}.clock`);
    const server = embeddedServer({
      title: plan.name,
      prepare: () => {
        extra.startedAt = existsSync(logFile) ? statSync(logFile).size : 0;
        writeFileSync(clockFile, '0');
        return Promise.resolve();
      },
      spec: () => ({
        name: plan.name,
        command: process.execPath,
        args: plan.args,
        env: { ...plan.env, ...extra.clock, ...extra.env },
        cwd: workspace.folder(plan.name),
        logFile,
        recordFile: path.join(workspace.folder('run'), `${plan.name}.json`),
        stopSignal: 'SIGTERM',
        stopTimeoutMs: STOP_TIMEOUT_MS,
      }),
      isReady: () => answersOk(plan),
      readyTimeoutMs: READY_TIMEOUT_MS,
      log: () => undefined,
    });
    super(plan.name, server, note);
    this.plan = plan;
    this.logFile = logFile;
    this.#extra = extra;
    this.#clockFile = clockFile;
  }

  /** With this in its environment, once. */
  async startWith(env: Extra): Promise<void> {
    this.#extra.env = env;
    try {
      await this.start();
    } finally {
      this.#extra.env = {};
    }
  }

  /** From its next start on its clock can be set. */
  useClock(): void {
    const preload = `--require ${JSON.stringify(JUMPING_CLOCK)}`;
    this.#extra.clock = { NODE_OPTIONS: preload, [CLOCK_VARIABLE]: this.#clockFile };
  }

  /** As others have it, from its next start on. */
  useNoClock(): void {
    this.#extra.clock = {};
  }

  /** Of one with such a clock; resolves when it has jumped. */
  async setClock(aheadMs: number): Promise<void> {
    writeFileSync(this.#clockFile, String(aheadMs));
    await this.#says(clockLine(aheadMs), 'jump');
  }

  /** Where it stands held at points it goes on; there it is held no more. */
  goOn(): void {
    this.signal('SIGUSR2');
  }

  answers(): Promise<boolean> {
    return answersOk(this.plan);
  }

  /**
   * Waits for its marker of a point, written since it was started; answers the line.
   * @param times where so many are held there
   */
  async marker(point: string, times = 1): Promise<string> {
    return await this.#says(JSON.stringify({ heldAt: point }), `come to ${point}`, times);
  }

  async #says(wanted: string, what: string, times = 1): Promise<string> {
    const isSaid = () => this.#linesSinceStart().filter((line) => line === wanted).length >= times;
    const seen = await pollUntil(isSaid, {
      timeoutMs: MARKER_TIMEOUT_MS,
      intervalMs: POLL_MS,
    });
    if (!seen) throw new Error(`${this.name} did not ${what}`);
    return wanted;
  }

  #linesSinceStart(): string[] {
    if (!existsSync(this.logFile)) return [];
    const file = openSync(this.logFile, 'r');
    try {
      const size = Math.max(0, statSync(this.logFile).size - this.#extra.startedAt);
      const bytes = Buffer.alloc(size);
      readSync(file, bytes, 0, size, this.#extra.startedAt);
      return bytes.toString('utf8').split('\n');
    } finally {
      closeSync(file);
    }
  }
}

/** Whether it says that it works; over a connection of this question's own. */
async function answersOk({ readyUrl, certificate }: ProcessPlan): Promise<boolean> {
  const agent = new Agent(certificate === undefined ? {} : { connect: { ca: certificate } });
  try {
    const { statusCode, body } = await request(readyUrl, {
      dispatcher: agent,
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    await body.dump();
    return statusCode === 200;
  } catch {
    return false;
  } finally {
    await agent.destroy();
  }
}
