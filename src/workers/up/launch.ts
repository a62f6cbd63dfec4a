/** One start of `waybill up`, from its first step to its end. */
import { setTimeout as delay } from 'node:timers/promises';
import { removeRunFile } from './run-file';
import { RunningServers } from './running-servers';
import type { UpSettings } from './settings';
import type { RunSteps, Step } from './steps';

export interface LaunchOptions {
  readonly environment: NodeJS.ProcessEnv;
  readonly runSteps: RunSteps;
  /** Ends the start early. */
  readonly signal: AbortSignal;
}

/** What is still starting when the end comes gets this long, so that it can be stopped in order. */
const PENDING_PATIENCE_MS = 15_000;

export class Launch {
  readonly settings: UpSettings;
  readonly environment: NodeJS.ProcessEnv;
  readonly servers: RunningServers;
  readonly #options: LaunchOptions;
  readonly #pending = new Set<Promise<void>>();

  constructor(options: LaunchOptions, settings: UpSettings) {
    this.settings = settings;
    this.environment = options.environment;
    this.servers = new RunningServers(settings.home);
    this.#options = options;
  }

  /** Runs steps at once, unless somebody asks for the end, or something that runs is lost. */
  async together(steps: readonly Step[]): Promise<void> {
    if (steps.length === 0) return;
    const { runSteps, signal } = this.#options;
    signal.throwIfAborted();
    const tracked = steps.map(({ title, work }) => ({
      title,
      work: (note: (line: string) => void) => {
        const pending = work(note);
        this.#pending.add(pending);
        return pending.finally(() => this.#pending.delete(pending));
      },
    }));
    await Promise.race([runSteps(tracked), rejectedWhenAborted(signal), this.servers.lost]);
  }

  /** Stops what runs, and what is about to. */
  async end(): Promise<void> {
    await Promise.race([
      Promise.allSettled(this.#pending),
      delay(PENDING_PATIENCE_MS, undefined, { ref: false }),
    ]);
    removeRunFile(this.settings.home);
    await this.servers.stop();
  }
}

function rejectedWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener(
      'abort',
      () => {
        reject(new Error('interrupted'));
      },
      { once: true },
    );
  });
}
