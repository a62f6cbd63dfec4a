/** Work that is done at once, as a promise: what it throws becomes a rejection. */
export function settled<Value>(work: () => Value): Promise<Value> {
  return new Promise((resolve) => {
    resolve(work());
  });
}
