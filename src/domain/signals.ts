/** Work that ends with whichever comes first: its own deadline or caller, or the end of the process. */

/**
 * Runs it with a signal that ends at the first of these, and lets go of them afterwards. `AbortSignal.any`
 * does not: under Node 20 a signal keeps each that was ever made of it, so it is not for one that lasts as
 * long as the process. Such a one is to allow more listeners than ten (`setMaxListeners`).
 * @throws whatever the work does
 */
export async function untilFirst<Result>(
  signals: readonly AbortSignal[],
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const first = new AbortController();
  const end = () => {
    const ended = signals.find(({ aborted }) => aborted);
    if (ended !== undefined) first.abort(ended.reason);
  };
  end();
  for (const signal of signals) signal.addEventListener('abort', end);
  try {
    return await work(first.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', end);
  }
}
