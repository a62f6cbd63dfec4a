/** The reference host as a real process of the build, for tests that kill it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import path from 'node:path';
import type { PointName } from '../../../src/points';
import type { ReferenceHostOptions } from '../../../src/hosts/reference/host';

const DIST = path.join(__dirname, '..', '..', '..', 'dist');
const START_MS = 20_000;

const SCRIPT = `
  const { startReferenceHost } = require('./hosts/reference/host.js');
  const { point } = require('./points.js');
  const options = JSON.parse(process.env.HOST_OPTIONS);
  startReferenceHost({ ...options, reach: point }).then((host) => {
    console.log(JSON.stringify({ url: host.url, storeEpoch: host.storeEpoch }));
    process.on('SIGTERM', () => host.stop());
  });
`;

export class HostProcess {
  readonly #child: ChildProcess;
  readonly #lines: Readonly<Record<string, unknown>>[] = [];
  readonly #exited: Promise<void>;
  #errors = '';
  #over = false;
  #wake: () => void = () => undefined;

  private constructor(options: ReferenceHostOptions, holdAt: PointName | '') {
    this.#child = spawn(process.execPath, ['-e', SCRIPT], {
      cwd: DIST,
      env: {
        ...process.env,
        HOST_OPTIONS: JSON.stringify(options),
        WAYBILL_HOLD_AT: holdAt,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { stdout, stderr } = this.#child;
    if (stdout === null || stderr === null) throw new Error('the process has no output');
    createInterface({ input: stdout }).on('line', (line) => {
      this.#lines.push(JSON.parse(line) as Readonly<Record<string, unknown>>);
      this.#wake();
    });
    stderr.on('data', (piece: Buffer) => (this.#errors += piece.toString()));
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', () => {
        this.#over = true;
        this.#wake();
        resolve();
      });
    });
  }

  /** Resolves once it listens. */
  static async start(
    options: ReferenceHostOptions,
    holdAt: PointName | '' = '',
  ): Promise<HostProcess> {
    const host = new HostProcess(options, holdAt);
    await host.#line('url');
    return host;
  }

  get url(): string {
    return String(this.#lines.find((line) => 'url' in line)?.['url']);
  }

  get storeEpoch(): string {
    return String(this.#lines.find((line) => 'url' in line)?.['storeEpoch']);
  }

  /** Resolves once it stands still at the point that it was told, with so many requests. */
  async held(times = 1): Promise<void> {
    await this.#line('heldAt', times);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#exited;
  }

  async #line(field: string, times = 1): Promise<void> {
    const deadline = performance.now() + START_MS;
    while (this.#lines.filter((line) => field in line).length < times) {
      const leftMs = deadline - performance.now();
      if (this.#over || leftMs <= 0) throw new Error(`no ${field} came:\n${this.#errors}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }
}
