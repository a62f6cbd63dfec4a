/** What a floor is told by the benchmark that starts it. */

/** @throws when the benchmark forgot it */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}

/** Settled when the benchmark asks for the end, or is gone itself. */
export async function endOfBenchmark(): Promise<void> {
  // Ctrl-C reaches the whole group; the benchmark ends its floors in its own order.
  process.on('SIGINT', () => undefined);
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve);
    process.stdin.once('end', resolve).resume();
  });
}
