/** The declared check on the body of a 2xx answer. */
import { pointerSteps } from '../domain/json-pointer';
import { jsonOf } from '../schemas/json-bytes';
import type { SuccessCheck } from '../schemas/targets';

/** `differs`: another value stands at the check's JSON pointer; `absent`: none does, or the body is no JSON. */
export function checkBody(body: Uint8Array, check: SuccessCheck): 'passes' | 'differs' | 'absent' {
  let value = jsonOf(body);
  for (const key of pointerSteps(check.pointer)) {
    if (typeof value !== 'object' || value === null) return 'absent';
    if (!Object.hasOwn(value, key)) return 'absent';
    value = (value as Record<string, unknown>)[key];
  }
  return value === check.equals ? 'passes' : 'differs';
}
