/** Deliveries of both lanes while target and Postgres fail: under the same fault, each lane counted by itself. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { statusAndCode } from '../client';
import { of } from '../families/family';
import { becomes, type CaseContext, type Proof } from './context';
import { countIn, eachIn, eachLane, judgeEvent, liveOf, observeSeveral, recordsOf } from './events';
import { eventId, inEachLane, postEach, postOnce, type VendorEvent } from './vendor';

/** Failed while the target refuses; replayed by one job under the ids that they have. */
export const targetDown: Proof = async (context) => {
  const [down, up] = context.faults;
  const labels = ['down-1', 'down-2', 'down-3'];
  const events = inEachLane(...labels);
  if (down !== undefined) await context.inflict(down);
  await postEach(context, events);
  await eachIn(context, events, 'Failed');
  await eachLane(events, async (lane, ofLane) => {
    context.observe(of(lane, 'failed while it was down'), await countIn(context, ofLane, 'Failed'));
    const requests = await recordsOf(context, ...ofLane);
    context.observe(of(lane, 'requests while it was down'), requests.length);
  });
  if (up !== undefined) await context.inflict(up);
  await replayAll(context);
  await eachIn(context, events, 'Acknowledged');
  await eachLane(events, async (lane, ofLane) => {
    const live = await observeSeveral(context, lane, ofLane);
    const records = await recordsOf(context, ...ofLane);
    const ids = records.filter(({ status }) => status === 200).map((one) => one.deliveryId);
    context.observe(of(lane, 'delivery ids that the target took'), new Set(ids).size);
    const known = new Set(live.map(({ id }) => id));
    const foreign = ids.filter((id) => id === null || !known.has(id));
    context.observe(of(lane, 'ids at the target that no delivery has'), foreign.length);
    let chains = 0;
    for (const id of known) chains += await context.judge.deliveryChains(id);
    context.observe(of(lane, 'receipt chains'), chains);
  });
};

/** Twelve events of each lane at once, half of them before the kill. */
export const ingestOutage: Proof = async (context) => {
  const labels = Array.from({ length: 12 }, (_, index) => `ingest-${index + 1}`);
  const events = inEachLane(...labels);
  const [kill, start] = context.faults;
  const early: VendorEvent[] = [];
  const posts = events.map(async (event) => {
    await delay(labels.indexOf(event.label) * 25);
    const { status } = await postOnce(context, event).catch(() => ({ status: 0 }));
    if (status === 202) early.push(event);
  });
  await delay(150);
  if (kill !== undefined) await context.inflict(kill);
  await Promise.all(posts);
  if (start !== undefined) await context.inflict(start);
  await becomes('Postgres answers', () =>
    context.judge.readyReplicas().then(
      () => true,
      () => false,
    ),
  );
  await eachLane(early, async (lane, accepted) => {
    const there = await Promise.all(accepted.map((event) => liveOf(context, event)));
    const lost = there.filter((rows) => rows.length === 0).length;
    context.observe(of(lane, 'accepted and lost'), lost);
  });
  const posted = await postEach(context, events);
  await eachIn(context, events, 'Acknowledged');
  await eachLane(events, async (lane, ofLane) => {
    const delivered = posted.filter((event) => event.lane === lane).length;
    context.observe(of(lane, 'events that the vendor could deliver'), delivered);
    await observeSeveral(context, lane, ofLane);
  });
  await becomes('four replicas are ready', async () => (await context.judge.readyReplicas()) === 4);
};

export const diskFull: Proof = async (context) => {
  const [full, room] = context.faults;
  const events = inEachLane('full');
  if (full !== undefined) await context.inflict(full);
  for (const event of events) {
    const answer = statusAndCode(await postOnce(context, event));
    context.observe(of(event.lane, 'answer without room'), answer);
    const stored = await context.judge.deliveriesOf(eventId(context, event));
    context.observe(of(event.lane, 'deliveries without room'), stored.length);
  }
  if (room !== undefined) await context.inflict(room);
  await postEach(context, events);
  for (const event of events) await judgeEvent(context, event);
};

const Job = z.object({ jobId: z.string() });

/** Plans a bulk replay of what failed, in either lane, and lets it run. */
async function replayAll({ client }: CaseContext): Promise<void> {
  const planned = await client.call({
    ...{ tenant: 'acme', method: 'POST', path: '/v1/replays' },
    body: { reason: 'the target is back' },
  });
  const { jobId } = Job.parse(planned.body);
  const path = `/v1/replays/${jobId}/run`;
  await becomes('the job runs', async () => {
    const { status } = await client.call({ tenant: 'acme', method: 'POST', path, body: {} });
    return status < 300;
  });
}
