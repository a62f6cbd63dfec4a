/** The servers and processes that one `waybill up` has started, and their end. */
import { WaybillError } from '../../domain/errors';
import type { EmbeddedServer } from '../embedded/embedded-server';
import { logFile } from './state-files';

/**
 * In the order of an orderly stop, those of one row at once. Hosts say goodbye to the API, and what
 * is open on them still ends; then intake first, the stores last.
 */
const STOP_ORDER = [
  ['host-1', 'host-2'],
  ['api'],
  ['worker'],
  ['provider', 'receiver'],
  ['temporal'],
  ['postgres'],
] as const;
export type ServerName = (typeof STOP_ORDER)[number][number];
export const SERVER_NAMES: readonly ServerName[] = STOP_ORDER.flat();

export class RunningServers {
  readonly #home: string;
  readonly #servers = new Map<ServerName, EmbeddedServer>();
  /** Rejects when one of them ends though nobody asked for it. */
  readonly lost: Promise<never>;
  #lose: (error: Error) => void = () => undefined;

  constructor(home: string) {
    this.#home = home;
    this.lost = new Promise<never>((_resolve, reject) => {
      this.#lose = reject;
    });
    // Whoever waits for it hears of it; nobody has to.
    this.lost.catch(() => undefined);
  }

  add(name: ServerName, server: EmbeddedServer): void {
    this.#servers.set(name, server);
    server.onLost(({ code, signal }) => {
      const how = signal ?? `code ${code ?? 'unknown'}`;
      this.#lose(
        new WaybillError(
          'process_lost',
          `${name} ended unexpectedly with ${how}; see ${logFile(this.#home, name)}`,
        ),
      );
    });
  }

  /** Of those that run now, by name. */
  pids(): Record<string, number> {
    return Object.fromEntries(
      [...this.#servers].flatMap(([name, { pid }]) => (pid === undefined ? [] : [[name, pid]])),
    );
  }

  /** Ends all of them in order; one that is gone already is no failure. */
  async stop(): Promise<void> {
    for (const names of STOP_ORDER) {
      await Promise.all(names.map(async (name) => this.#servers.get(name)?.stop()));
      for (const name of names) this.#servers.delete(name);
    }
  }
}
