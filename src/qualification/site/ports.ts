/** Ports of loopback, one for each that listens: held until it does, so that no other run gets them meanwhile. */
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import type { Ports } from './plans';
import { GATEWAYS, HOSTS, WORKERS } from './topology';

type PortName = keyof Ports;

const NAMES: readonly PortName[] = [
  ...(['edge', 'lifecycle', 'provider', 'target', 'link'] as const),
  ...(['postgres', 'temporal', 'temporal-ui'] as const),
  ...GATEWAYS,
  ...WORKERS,
  ...HOSTS.map(({ name }) => name),
];

/** Below those that systems give to connections: while a process is dead, nobody gets its port by chance. */
const FIRST = 10_000;
const LAST = 32_000;
const TRIES = 1_000;

export class HeldPorts {
  readonly ports: Ports;
  readonly #held: Map<PortName, Server>;

  private constructor(ports: Ports, held: Map<PortName, Server>) {
    this.ports = ports;
    this.#held = held;
  }

  static async take(): Promise<HeldPorts> {
    const held = new Map<PortName, Server>();
    const taken: [PortName, number][] = [];
    for (const name of NAMES) {
      const { port, server } = await holdOne();
      held.set(name, server);
      taken.push([name, port]);
    }
    return new HeldPorts(Object.fromEntries(taken) as Ports, held);
  }

  /** Whoever is to listen there does so now. */
  async release(...names: readonly PortName[]): Promise<void> {
    await Promise.all(
      names.map(async (name) => {
        const server = this.#held.get(name);
        this.#held.delete(name);
        if (server === undefined) return;
        await new Promise<void>((resolve) => {
          server.close(() => {
            resolve();
          });
        });
      }),
    );
  }

  async releaseAll(): Promise<void> {
    await this.release(...this.#held.keys());
  }
}

async function holdOne(): Promise<{ readonly port: number; readonly server: Server }> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(FIRST, LAST);
    const server = createServer();
    const isMine = await new Promise<boolean>((resolve) => {
      server.once('error', () => {
        resolve(false);
      });
      server.listen(port, '127.0.0.1', () => {
        resolve(true);
      });
    });
    if (isMine) return { port, server };
  }
  throw new Error('no port of loopback is free');
}
