/**
 * The first attempt of a delivery in the express lane, by the loop that has claimed it: the same attempt as
 * a workflow's. What it does not acknowledge is the workflow's from then on (docs/architecture, "Lanes").
 */
import type { Claimed } from '../db/express-deliveries';
import type { AttemptServices } from './attempt-services';
import { carryOut } from './attempts';

/**
 * Carries out what was claimed; `for_workflow`: its workflow goes on with it.
 * @throws whatever keeps the attempt from being closed: the row says what is left to do, and a loop makes
 *   it good
 */
export async function driveClaimed(
  attempts: AttemptServices,
  { ref, opened }: Claimed,
  signal: AbortSignal,
): Promise<'acknowledged' | 'for_workflow'> {
  // What cannot be attempted fails in its workflow's hands, where people look for it.
  if (opened.answer === 'must_fail') return 'for_workflow';
  const answer = await carryOut(attempts, ref, opened, { takeOver: false, signal });
  return answer.kind === 'acknowledged' ? 'acknowledged' : 'for_workflow';
}
