/** Events of the vendor: what became of them in the databases and at the target. */
import { createHash } from 'node:crypto';
import { LANES, type Lane } from '../../domain/lanes';
import { of } from '../families/family';
import type { DeliveryFacts } from '../judging/judge';
import { becomes, type CaseContext, type Observed } from './context';
import { eventBody, eventId, targetRecords, type TargetRecord, type VendorEvent } from './vendor';

/** Everything that there is of one event of the vendor, once it is acknowledged. */
export async function judgeEvent(
  context: CaseContext,
  event: VendorEvent,
  name: (what: string) => string = (what) => what,
): Promise<void> {
  await eachIn(context, [event], 'Acknowledged');
  const live = await liveOf(context, event);
  const records = await recordsOf(context, event);
  const ids = new Set(records.map(({ deliveryId }) => deliveryId));
  const observe = (what: string, actual: Observed) => {
    context.observe(name(of(event.lane, what)), actual);
  };
  observe('deliveries of the event', live.length);
  observe('state', live[0]?.state ?? 'none');
  observe('who made the first attempt', live[0]?.firstBy ?? 'nobody');
  observe(
    'the target took it',
    records.some(({ status }) => status === 200),
  );
  observe('delivery ids at the target', ids.size);
  observe('receipt chains', await context.judge.deliveryChains(live[0]?.id ?? ''));
  observe('open attempts', live[0]?.openAttempts ?? 0);
  observe('attempts that overlap', live[0]?.overlaps ?? 0);
}

/** How many deliveries of several events of a lane there are, how many ended well, and who drove them; all of them. */
export async function observeSeveral(
  context: CaseContext,
  lane: Lane,
  events: readonly VendorEvent[],
): Promise<DeliveryFacts[]> {
  const live = await liveOf(context, ...events);
  const acknowledged = live.filter(({ state }) => state === 'Acknowledged').length;
  const drivers = new Set(live.map(({ firstBy }) => firstBy));
  const overlaps = live.reduce((sum, one) => sum + one.overlaps, 0);
  context.observe(of(lane, 'deliveries of the events'), live.length);
  context.observe(of(lane, 'deliveries that were acknowledged'), acknowledged);
  context.observe(of(lane, 'who made the first attempts'), [...drivers].sort().join(' '));
  context.observe(of(lane, 'attempts that overlap'), overlaps);
  return live;
}

/** What the target got of them. */
export async function recordsOf(
  context: CaseContext,
  ...events: readonly VendorEvent[]
): Promise<TargetRecord[]> {
  const digests = events.map((event) =>
    createHash('sha256').update(eventBody(context, event)).digest('hex'),
  );
  return (await targetRecords(context)).filter(({ sha256 }) => digests.includes(sha256));
}

/** Their deliveries that are no duplicates. */
export async function liveOf(
  context: CaseContext,
  ...events: readonly VendorEvent[]
): Promise<DeliveryFacts[]> {
  const rows = await Promise.all(
    events.map((event) => context.judge.deliveriesOf(eventId(context, event))),
  );
  return rows.flat().filter(({ state }) => state !== 'Deduplicated');
}

/** How many of them there are in that state. */
export async function countIn(
  context: CaseContext,
  events: readonly VendorEvent[],
  state: string,
): Promise<number> {
  return (await liveOf(context, ...events)).filter((one) => one.state === state).length;
}

/** Waits until each is there, and in that state. */
export async function eachIn(
  context: CaseContext,
  events: readonly VendorEvent[],
  state: string,
): Promise<void> {
  await becomes(`deliveries are ${state}`, async () => {
    const live = await liveOf(context, ...events);
    return live.length >= events.length && live.every((one) => one.state === state);
  });
}

/** Looks at what there is of each lane, all of them. */
export async function eachLane(
  events: readonly VendorEvent[],
  look: (lane: Lane, events: readonly VendorEvent[]) => Promise<void>,
): Promise<void> {
  for (const lane of LANES) {
    await look(
      lane,
      events.filter((event) => event.lane === lane),
    );
  }
}
