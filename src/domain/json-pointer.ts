/** The steps of a JSON pointer (RFC 6901), outermost first; none: it names the whole value. */
export function pointerSteps(pointer: string): string[] {
  // ~1 is a slash, ~0 a tilde, in this order.
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a JSON pointer; undefined, which JSON does not know, where there is none. */
export function valueAt(whole: unknown, pointer: string): unknown {
  let value = whole;
  for (const key of pointerSteps(pointer)) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (Array.isArray(value) && !/^(0|[1-9]\d*)$/.test(key)) return undefined;
    if (!Object.hasOwn(value, key)) return undefined;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
