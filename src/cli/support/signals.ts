/** Running until somebody asks for the end. */

const ASKING_TO_END: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Exit code of a program that was interrupted twice. */
const IMPATIENT_EXIT = 130;

/** One Ctrl-C may come twice: from the terminal, and from a script runner that passes it on. */
const SAME_SIGNAL_MS = 500;

const STAYING_MS = 3_600_000;

/**
 * A signal that is aborted when the process is asked to end (Ctrl-C, SIGTERM, a closed terminal).
 * Whoever asks a second time by Ctrl-C does not want to wait for an orderly stop.
 */
export function endRequested(): AbortSignal {
  const controller = new AbortController();
  let askedAt = 0;
  for (const name of ASKING_TO_END) {
    process.on(name, () => {
      const again = controller.signal.aborted && performance.now() - askedAt > SAME_SIGNAL_MS;
      if (again && name === 'SIGINT') process.exit(IMPATIENT_EXIT);
      if (!controller.signal.aborted) askedAt = performance.now();
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
