/** Replaying the deliveries of a bulk replay: each decided on its row, with receipt, event and audit. */
import { replayPlanned } from '../db/bulk-replays';
import { readDeliveryFacts } from '../db/deliveries';
import type { BulkReplayRef } from '../domain/bulk-replays';
import type { DeliveryRef } from '../domain/delivery-activities';
import { deliveryId } from '../domain/ids';
import { point } from '../points';
import { countedAs } from './delivery-metrics';
import { commonData, nextReceipt, withReceipt } from './receipts';
import type { ReplayServices } from './replays';

export interface ItemServices extends ReplayServices {
  /** Wakes or starts the workflow of a delivery that was replayed; a loop does what this could not. */
  readonly nudge: (
    ref: DeliveryRef,
    about: {
      readonly connectorId: string;
      readonly eventType: string;
      readonly subscriptionId: string | null;
    },
  ) => Promise<void>;
  /** How long a job waits for the last thing it has replayed; a day unless told. */
  readonly watchMs?: number;
}

interface Item {
  readonly position: number;
  readonly deliveryId: string;
}

interface Who {
  readonly by: string;
  readonly reason: string;
}

const WATCH_MS = 86_400_000;

/** So many at once: signing and round trips overlap, the job's row lock does not. */
const LANES = 4;

/**
 * Replays those that are still failed at the version that was planned, and skips the others, begun in
 * their order. Ends early, without an error, once the job does not run any more.
 * @param nudges takes the waking of each one's workflow, which is under way and never fails
 */
export async function replayItems(
  services: ItemServices,
  ref: BulkReplayRef,
  items: readonly Item[],
  { who, nudges }: { readonly who: Who; readonly nudges: Set<Promise<void>> },
): Promise<void> {
  const queue = [...items];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const replayed = await replayItem(services, ref, item, who);
      await point('bulk-replay.replayed');
      if (replayed === 'not_running') queue.length = 0;
      else if (replayed !== null) keep(nudges, services.nudge(...replayed));
    }
  };
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, lane));
  await point('bulk-replay.nudged');
  const broken = lanes.find((ended) => ended.status === 'rejected');
  if (broken !== undefined) throw broken.reason;
}

function keep(nudges: Set<Promise<void>>, nudge: Promise<void>): void {
  const kept = nudge
    .catch(() => undefined)
    .finally(() => {
      nudges.delete(kept);
    });
  nudges.add(kept);
}

/** Whose workflow is to be woken; null: nobody's. */
async function replayItem(
  services: ItemServices,
  ref: BulkReplayRef,
  { position, deliveryId: id }: Item,
  who: Who,
): Promise<Parameters<ItemServices['nudge']> | 'not_running' | null> {
  const { data, metrics, watchMs = WATCH_MS } = services;
  const delivery = { tenantId: ref.tenantId, deliveryId: deliveryId(id) };
  const facts = await readDeliveryFacts(data, delivery);
  const replay = (receipt: Parameters<typeof replayPlanned>[3]) =>
    replayPlanned(data, { ...ref, position }, { by: who.by, watchMs }, receipt);
  const answer =
    facts === null
      ? await replay(null)
      : await withReceipt(facts, (head) => sign(services, delivery, head, who), replay);
  if (answer.answer === 'not_running') return 'not_running';
  if (facts === null || answer.answer !== 'replayed') return null;
  metrics?.reached('Replayed', countedAs(delivery, facts));
  return [delivery, facts];
}

function sign(
  { signingKey }: ItemServices,
  ref: DeliveryRef,
  head: Parameters<typeof commonData>[1],
  { by, reason }: Who,
) {
  const data = { ...commonData(ref, head), replayedBy: by, reason, series: head.series + 1 };
  const body = { kind: 'replayed', data } as const;
  return nextReceipt(signingKey, { ref, facts: head, atMs: Date.parse(head.now), body });
}
