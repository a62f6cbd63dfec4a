/** Running until somebody asks for the end. */

const ASKING_TO_END: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Exit code of a program that was interrupted twice. */
const IMPATIENT_EXIT = 130;

const STAYING_MS = 3_600_000;

/**
 * A signal that is aborted when the process is asked to end (Ctrl-C, SIGTERM, a closed terminal).
 * Whoever asks a second time by Ctrl-C does not want to wait for an orderly stop.
 */
export function endRequested(): AbortSignal {
  const controller = new AbortController();
  for (const name of ASKING_TO_END) {
    process.on(name, () => {
      if (controller.signal.aborted && name === 'SIGINT') process.exit(IMPATIENT_EXIT);
      controller.abort();
    });
  }
  return controller.signal;
}

/** Resolves when the signal is aborted; until then the process stays, even with nothing else to do. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const staying = setInterval(() => undefined, STAYING_MS);
    signal.addEventListener(
      'abort',
      () => {
        clearInterval(staying);
        resolve();
      },
      { once: true },
    );
  });
}
