/** The steps of a JSON pointer (RFC 6901), outermost first; none: it names the whole value. */
export function pointerSteps(pointer: string): string[] {
  // ~1 is a slash, ~0 a tilde, in this order.
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
