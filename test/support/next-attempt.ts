/**
 * Attempts without a Temporal worker, by whoever makes the delivery's next move: the loop of the express
 * lane, with what it claims, or what a workflow's activity calls. Tests of what an attempt does run in both
 * lanes with it.
 */
import { openAttempt } from '../../src/db/deliveries';
import { claimExpress } from '../../src/db/express-deliveries';
import type { AttemptAnswer, DeliveryRef } from '../../src/domain/delivery-activities';
import type { OpenAttemptAnswer, OpenedAttempt } from '../../src/schemas/delivery-rows';
import type { AttemptServices } from '../../src/services/attempt-services';
import { carryOut } from '../../src/services/attempts';
import type { DeliveryRig } from './delivery-rig';
import type { TestDatabase } from './test-database';

const OWNER = 'test';
const never = new AbortController().signal;

/** What its driver is told when it asks for the next attempt. */
export async function askNext(
  db: Pick<TestDatabase, 'rows' | 'as'>,
  ref: DeliveryRef,
): Promise<OpenAttemptAnswer> {
  const data = db.as('waybill_data');
  const [row] = await db.rows(
    `select from waybill.deliveries where delivery_id = $1 and driver = 'loop' and state = 'Received'`,
    [ref.deliveryId],
  );
  if (row === undefined) return openAttempt(data, ref, OWNER);
  const claimed = await claimExpress(data, ref.tenantId, {
    ...{ owner: OWNER, limit: 1 },
    onBroken: (id, error) => {
      throw new Error(`${id} could not be claimed: ${String(error)}`);
    },
  });
  const [first] = claimed;
  // Somebody else had it first.
  if (first === undefined) return openAttempt(data, ref, OWNER);
  if (first.ref.deliveryId !== ref.deliveryId) throw new Error('another one was claimed');
  return first.opened;
}

/** Its next attempt, open. */
export async function openNext(
  db: Pick<TestDatabase, 'rows' | 'as'>,
  ref: DeliveryRef,
): Promise<OpenedAttempt> {
  const answer = await askNext(db, ref);
  if (answer.answer !== 'opened') throw new Error(`was not opened: ${answer.answer}`);
  return answer;
}

export interface NextAttemptOptions {
  /** In place of the rig's. */
  readonly services?: AttemptServices;
  /** The worker of a workflow's open attempt is known to be dead. */
  readonly takeOver?: boolean;
  readonly signal?: AbortSignal;
}

/** Its next attempt; what the loop cannot attempt is failed by the workflow that it is given to. */
export async function nextAttempt(
  rig: Pick<DeliveryRig, 'db' | 'services'>,
  ref: DeliveryRef,
  { services = rig.services, takeOver = false, signal = never }: NextAttemptOptions = {},
): Promise<AttemptAnswer> {
  const asked = await askNext(rig.db, ref);
  const opened =
    asked.answer === 'must_fail' ? await openAttempt(services.data, ref, OWNER) : asked;
  return carryOut(services, ref, opened, { takeOver, signal });
}

/** The time of whoever opened its attempt is over. */
export async function leaseOver(db: Pick<TestDatabase, 'rows'>, ref: DeliveryRef): Promise<void> {
  await db.rows(
    `update waybill.delivery_attempts set deadline_at = clock_timestamp()
      where delivery_id = $1 and closed_at is null`,
    [ref.deliveryId],
  );
}
