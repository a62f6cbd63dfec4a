/** The reference host as a real process of the build, for tests that kill it. */
import path from 'node:path';
import type { PointName } from '../../../src/points';
import type { ReferenceHostOptions } from '../../../src/hosts/reference/host';
import { NodeProcess, type Line } from '../../support/node-process';

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
  readonly url: string;
  readonly storeEpoch: string;
  readonly #process: NodeProcess;

  private constructor(process: NodeProcess, started: Line) {
    this.#process = process;
    this.url = String(started['url']);
    this.storeEpoch = String(started['storeEpoch']);
  }

  /** Resolves once it listens. */
  static async start(
    options: ReferenceHostOptions,
    holdAt: PointName | '' = '',
  ): Promise<HostProcess> {
    const process = new NodeProcess(['-e', SCRIPT], {
      cwd: DIST,
      env: { HOST_OPTIONS: JSON.stringify(options), WAYBILL_HOLD_AT: holdAt },
    });
    const started = await process.line('its address', (line) => 'url' in line, START_MS);
    return new HostProcess(process, started);
  }

  /** Resolves once it stands still at the point that it was told, with so many requests. */
  async held(times = 1): Promise<void> {
    await this.#process.nthLine(times, 'the point', (line) => 'heldAt' in line, START_MS);
  }

  kill(): Promise<void> {
    return this.#process.kill();
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
