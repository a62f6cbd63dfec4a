/** Real Waybill processes, started from the build, for tests that kill them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PointName } from '../../src/points';
import { NodeProcess, type Line } from './node-process';

const ROOT = path.join(__dirname, '..', '..');
const PROGRAM = path.join(ROOT, 'bin', 'waybill.js');

type Environment = Readonly<Record<string, string>>;

export class WaybillProcess extends NodeProcess {
  constructor(args: readonly string[], env: Environment) {
    super([PROGRAM, ...args], { cwd: ROOT, env });
  }

  /** Resolves once the process stands still at this point, so many times at once. */
  async heldAt(point: PointName, times = 1): Promise<void> {
    const holds = (line: Line) => line['heldAt'] === point;
    await this.nthLine(times, `the point ${point}`, holds, 30_000);
  }

  async logged(message: string): Promise<Line> {
    return await this.line(message, (line) => line['msg'] === message);
  }
}

/** An API that listens, and where. */
export interface RunningApi {
  readonly api: WaybillProcess;
  readonly url: string;
}

/** The processes of a test over one home folder, on ports that are free. */
export class WaybillProcesses {
  readonly home = mkdtempSync(path.join(tmpdir(), 'waybill-processes-'));
  readonly #members: { kill(): Promise<void> }[] = [];

  spawn(args: readonly string[], env: Environment): WaybillProcess {
    const started = new WaybillProcess(args, {
      WAYBILL_HOME: this.home,
      WAYBILL_PORT: '0',
      WAYBILL_HEALTH_PORT: '0',
      WAYBILL_GRPC_PORT: '0',
      ...env,
    });
    this.add(started);
    return started;
  }

  /** Resolves once it polls. */
  async worker(args: readonly string[], env: Environment): Promise<WaybillProcess> {
    const worker = this.spawn(['worker', ...args], env);
    await worker.logged('worker started');
    return worker;
  }

  /** Resolves once it listens. */
  async api(args: readonly string[], env: Environment): Promise<RunningApi> {
    const api = this.spawn(['api', ...args], env);
    const { url } = await api.logged('api started');
    return { api, url: String(url) };
  }

  /** Another one that ends with these. */
  add(member: { kill(): Promise<void> }): void {
    this.#members.push(member);
  }

  /** Kills all of them; the home folder goes as well. */
  async end(): Promise<void> {
    await Promise.all(this.#members.map((one) => one.kill()));
    rmSync(this.home, { recursive: true, force: true });
  }
}
