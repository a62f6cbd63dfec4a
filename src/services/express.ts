/**
 * The first attempt of a delivery in the express lane, by the loop that has claimed it: the same attempt as
 * a workflow's. What it does not acknowledge is the workflow's from then on (docs/architecture, "Lanes").
 */
import type { Claimed } from '../db/express-deliveries';
import { point } from '../points';
import type { AttemptServices } from './attempt-services';
import { carryOut } from './attempts';

export interface ExpressServices {
  readonly attempts: AttemptServices;
  /** Starts the delivery's workflow; one that runs is left alone. */
  readonly start: (ref: Claimed['ref'], about: Claimed['about']) => Promise<void>;
}

/**
 * Carries out what was claimed, and hands over what that did not acknowledge.
 * @throws whatever keeps the attempt from being closed or the workflow from being started: the row says
 *   what is left to do, and a loop makes good both
 */
export async function driveClaimed(
  { attempts, start }: ExpressServices,
  { ref, about, opened }: Claimed,
  signal: AbortSignal,
): Promise<'acknowledged' | 'handed_over'> {
  // What cannot be attempted fails in its workflow's hands, where people look for it.
  if (opened.answer !== 'must_fail') {
    const answer = await carryOut(attempts, ref, opened, { takeOver: false, signal });
    if (answer.kind === 'acknowledged') return 'acknowledged';
  }
  await start(ref, about);
  await point('express.started');
  return 'handed_over';
}
