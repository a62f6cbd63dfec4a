/** The declared check on the body of a 2xx answer. */
import type { SuccessCheck } from '../schemas/targets';

/** Whether the value at the check's JSON pointer equals the declared one; no JSON is no match. */
export function bodyPasses(body: Uint8Array, check: SuccessCheck): boolean {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return false;
  }
  for (const step of check.pointer.slice(1).split('/')) {
    if (typeof value !== 'object' || value === null) return false;
    // RFC 6901: ~1 is a slash, ~0 a tilde, in this order.
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return value === check.equals;
}
