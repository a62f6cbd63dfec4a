/** Scenarios side by side, a few at a time: they mostly wait. */
export function sideBySide<Key>(
  keys: readonly Key[],
  atOnce: number,
  run: (key: Key) => Promise<void>,
): (key: Key) => Promise<void> {
  const results = new Map<Key, Promise<void>>();
  const lanes: Promise<unknown>[] = Array.from({ length: atOnce }, () => Promise.resolve());
  keys.forEach((key, index) => {
    const before = lanes[index % atOnce] ?? Promise.resolve();
    const result = before.then(() => run(key));
    results.set(key, result);
    lanes[index % atOnce] = result.catch(() => undefined);
  });
  return async (key) => {
    await results.get(key);
  };
}
