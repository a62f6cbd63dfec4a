/** What people send to an action's workflow from the Temporal UI, read and bounded. */
import { MAX_PERSON, MAX_REASON, fieldsOf, textProblem } from './plain-text';
import { RESOLUTIONS, type Resolution } from './resolutions';

export type CheckedCancel =
  | { readonly ok: true; readonly cancelledBy: string; readonly reason: string }
  | { readonly ok: false; readonly problem: string };

/** Reads the input of the signal `cancel`. */
export function checkCancelSignal(input: unknown): CheckedCancel {
  const given = fieldsOf(input);
  if (given === null) return { ok: false, problem: 'the input is not an object' };
  const { by = 'temporal-ui', reason = 'cancelled from the Temporal UI' } = given;
  const problem = textProblem('by', by, MAX_PERSON) ?? textProblem('reason', reason, MAX_REASON);
  if (problem !== null) return { ok: false, problem };
  return { ok: true, cancelledBy: String(by), reason: String(reason) };
}

/** What is wrong with the input of the update `resolve`; null: nothing. */
export function resolutionProblem(input: unknown): string | null {
  const given = fieldsOf(input);
  const example = '{"outcome": "completed", "by": "your name", "reason": "how you know"}';
  if (given === null) return `the input is not an object such as ${example}`;
  const { outcome, by, reason } = given;
  if (!RESOLUTIONS.some((one) => one === outcome)) {
    return `\`outcome\` is none of ${RESOLUTIONS.join(', ')}; write for example ${example}`;
  }
  return textProblem('by', by, MAX_PERSON) ?? textProblem('reason', reason, MAX_REASON);
}

/** The input of the update `resolve`, once nothing is wrong with it. */
export function readResolution(input: unknown): Resolution {
  const { outcome, by, reason } = fieldsOf(input) ?? {};
  const known = RESOLUTIONS.find((one) => one === outcome) ?? 'failed';
  return { outcome: known, by: String(by), reason: String(reason) };
}
