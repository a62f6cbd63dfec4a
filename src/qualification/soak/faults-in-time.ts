/** Carries out the faults of a soak at their times, each strand after its own. */
import { setTimeout as delay } from 'node:timers/promises';
import { becomes, type CaseContext } from '../cases/context';
import type { Fault } from '../faults';
import { inflict } from '../inflict';
import { strandOf, type Strand, type TimedFault } from './schedule';

/** What does not start because something else is broken is started again, as its supervisor would. */
const START_PATIENCE_MS = 180_000;

/**
 * Notes them in the order of the schedule, whatever becomes of them; resolves when the last one is done.
 * @throws Error where one cannot be done
 */
export async function inflictInTime(
  context: CaseContext,
  schedule: readonly TimedFault[],
): Promise<void> {
  const began = performance.now();
  const strands = new Map<Strand, Promise<void>>();
  const broken: unknown[] = [];
  for (const fault of schedule) {
    await delay(Math.max(0, fault.atMs - (performance.now() - began)));
    context.noteFault(fault);
    const strand = strandOf(fault);
    const before = strands.get(strand) ?? Promise.resolve();
    strands.set(
      strand,
      before.then(async () => {
        await doIt(context, fault).catch((error: unknown) => broken.push(error));
      }),
    );
  }
  await Promise.all(strands.values());
  const [first] = broken;
  if (first !== undefined) throw first instanceof Error ? first : new Error(JSON.stringify(first));
}

async function doIt({ site }: CaseContext, fault: Fault): Promise<void> {
  const patient = ['start', 'disk', 'publish'].includes(fault.kind);
  if (!patient) {
    await inflict(site, fault);
    return;
  }
  await becomes(
    `${JSON.stringify(fault)} is done`,
    () =>
      inflict(site, fault).then(
        () => true,
        () => false,
      ),
    START_PATIENCE_MS,
  );
}
