/**
 * Several connections at once, in random rounds. Real: Postgres, the product's ports under their own
 * roles, publications. Doubled: nothing.
 *
 * The first test asks of each round whether some order, one after the other, gives the registry in
 * memory the same answers and the same figures. The second has more of everything, and a database
 * that refuses to book above a limit or a capacity: whatever the order was, counters are the open
 * attempts after each round and within it, an action has one open attempt, and fences only grow.
 *
 * A failure prints its seed and path. `WAYBILL_SEED=… WAYBILL_PATH=…` plays the same rounds again;
 * which of a round's calls gets a lock first is up to Postgres.
 */
import fc from 'fast-check';
import { LaneRegistry } from './interleavings/lanes';
import { orderly } from './interleavings/orders';
import { rounds as wildRounds } from './interleavings/lane-steps';
import { orderlyRounds } from './interleavings/order-steps';
import { REPLAY } from './replaying';

const RUNS = 12;
/** No run begins after that; the first one always does. */
const BOUND_MS = 10_000;

/** Shrinking would take longer than reading the rounds. */
async function always<Rounds>(
  rounds: fc.Arbitrary<Rounds>,
  holds: (rounds: Rounds) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  let runs = 0;
  const property = fc.asyncProperty(rounds, async (drawn) => {
    if (runs > 0 && performance.now() - began > BOUND_MS) return;
    runs += 1;
    await holds(drawn);
  });
  await fc.assert(property, { numRuns: RUNS, endOnFailure: true, ...REPLAY });
}

test('what several connections do at once, memory does one after the other', async () => {
  await always(orderlyRounds, orderly);
});

test('whatever the order, counters are the open attempts, within limits, and fences grow', async () => {
  await always(wildRounds, async (rounds) => {
    const registry = await LaneRegistry.start();
    try {
      for (const round of rounds) await registry.play(round);
      await registry.comesToRest();
    } finally {
      await registry.close();
    }
  });
});
