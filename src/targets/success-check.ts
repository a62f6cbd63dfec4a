/** The declared check on the body of a 2xx answer. */
import { pointerSteps } from '../domain/json-pointer';
import { jsonOf } from '../schemas/json-bytes';
import type { SuccessCheck } from '../schemas/targets';

/** Whether the value at the check's JSON pointer equals the declared one; no JSON is no match. */
export function bodyPasses(body: Uint8Array, check: SuccessCheck): boolean {
  let value = jsonOf(body);
  for (const key of pointerSteps(check.pointer)) {
    if (typeof value !== 'object' || value === null) return false;
    if (!Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return value === check.equals;
}
