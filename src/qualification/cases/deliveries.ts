/** Deliveries while gateways, workers, target, Temporal and Postgres fail. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { statusAndCode } from '../client';
import { inWindow } from '../families/family';
import {
  APPROVED_CAPABILITY,
  approvedOnceAsked,
  ask,
  factsOf,
  observeRecords,
  refOf,
  type Wish,
} from './actions';
import { becomes, type CaseContext, type Proof } from './context';
import { countOf, eachIn, idsOf, judgeEvent, liveOf, recordsOf, statesOf } from './events';
import { eventId, postOnce, postUntilTaken } from './vendor';
import { crashesOf, CrashWindow, type Crash } from './windows';

export const deliveryCrashWindows: Proof = async (context) => {
  for (const crash of crashesOf(context)) await deliveryWindow(context, crash);
};

async function deliveryWindow(context: CaseContext, crash: Crash): Promise<void> {
  const { site } = context;
  const window = new CrashWindow(context, crash.boundary);
  const label = `event-${crash.boundary}`;
  const doomed = site.node(crash.process === 'gateway-1' ? 'gateway-1' : 'worker-1');
  const isWorker = doomed.name === 'worker-1';
  await Promise.all([doomed.stop(), isWorker ? site.process('worker-2').stop() : null]);
  await doomed.startWith({ WAYBILL_HOLD_AT: crash.boundary });
  const first = postOnce(context, label, 'gateway-1').then(
    ({ status, body }) => {
      window.tried(status, body);
    },
    (error: unknown) => {
      window.tried(null, String(error));
    },
  );
  const marker = await doomed.marker(crash.boundary);
  if (isWorker) await site.process('worker-2').start();
  const before = await context.judge.deliveriesOf(eventId(context, label));
  const requests = (await recordsOf(context, label)).length;
  await context.inflict(crash);
  window.checkpoint(marker, {
    'deliveries when it was killed': before.length,
    'requests at the target when it was killed': requests,
  });
  await first;
  const { accepted, answers } = await postUntilTaken(context, label);
  window.tried(accepted ? 202 : null, answers);
  await judgeEvent(context, label, (what) => inWindow(crash.boundary, what));
  const [delivery] = await liveOf(context, label);
  window.result({ delivery, receipts: await context.judge.receiptsOf(delivery?.id ?? '') });
  await doomed.start();
}

/** Failed while the target refuses; replayed by one job under the ids that they have. */
export const targetDown: Proof = async (context) => {
  const [down, up] = context.faults;
  const labels = ['down-1', 'down-2', 'down-3'];
  if (down !== undefined) await context.inflict(down);
  for (const label of labels) await postUntilTaken(context, label);
  await eachIn(context, labels, 'Failed');
  const failed = await statesOf(context, labels);
  context.observe('failed while it was down', failed.filter((state) => state === 'Failed').length);
  if (up !== undefined) await context.inflict(up);
  await replayAll(context);
  await eachIn(context, labels, 'Acknowledged');
  const states = await statesOf(context, labels);
  const acknowledged = states.filter((state) => state === 'Acknowledged').length;
  context.observe('acknowledged after the replay', acknowledged);
  context.observe('deliveries of the events', await countOf(context, labels));
  const taken = await Promise.all(labels.map((label) => recordsOf(context, label)));
  const ids = taken
    .flat()
    .filter(({ status }) => status === 200)
    .map((one) => one.deliveryId);
  context.observe('delivery ids that the target took', new Set(ids).size);
  const known = new Set(await idsOf(context, labels));
  const foreign = ids.filter((id) => id === null || !known.has(id));
  context.observe('ids at the target that no delivery has', foreign.length);
  let chains = 0;
  for (const id of known) chains += await context.judge.deliveryChains(id);
  context.observe('receipt chains', chains);
};

export const temporalOutage: Proof = async (context) => {
  const labels = ['away-1', 'away-2', 'away-3'];
  const wish: Wish = {
    ...{ tenant: 'acme', label: 'away', capability: APPROVED_CAPABILITY },
    request: { title: 'While Temporal is away' },
  };
  const ref = refOf(context, 'acme', 'away');
  const approved = approvedOnceAsked(context, ref);
  const answers: string[] = [];
  const post = async (label: string) => {
    answers.push(statusAndCode(await postOnce(context, label)));
  };
  const [kill, away, start] = context.faults;
  if (kill !== undefined) await context.inflict(kill);
  await post('away-1');
  context.observe(
    'answer to the action',
    statusAndCode(await ask(context, { ...wish, waitMs: 0 })),
  );
  await post('away-2');
  if (away?.kind === 'away') {
    await context.inflict(away);
    await delay(away.seconds * 1_000);
  }
  await post('away-3');
  if (start !== undefined) await context.inflict(start);
  context.observe('answers to the vendor', answers.join(' '));
  await eachIn(context, labels, 'Acknowledged');
  const states = await statesOf(context, labels);
  context.observe(
    'deliveries that were acknowledged',
    states.filter((one) => one === 'Acknowledged').length,
  );
  context.observe('deliveries of the events', await countOf(context, labels));
  await approved;
  await becomes(
    'the action is completed',
    async () => (await factsOf(context, ref)).state === 'completed',
  );
  context.observe('state of the action', (await factsOf(context, ref)).state);
  await observeRecords(context, ref);
};

/** Twelve events at once, half of them before the kill. */
export const ingestOutage: Proof = async (context) => {
  const labels = Array.from({ length: 12 }, (_, index) => `ingest-${index + 1}`);
  const [kill, start] = context.faults;
  const early = new Map<string, number>();
  const posts = labels.map(async (label, index) => {
    await delay(index * 25);
    early.set(label, (await postOnce(context, label).catch(() => ({ status: 0 }))).status);
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
  const accepted = labels.filter((label) => early.get(label) === 202);
  const there = await Promise.all(accepted.map((label) => liveOf(context, label)));
  context.observe('accepted and lost', there.filter((rows) => rows.length === 0).length);
  const posted = await Promise.all(labels.map((label) => postUntilTaken(context, label)));
  context.observe(
    'events that the vendor could deliver',
    posted.filter((one) => one.accepted).length,
  );
  await eachIn(context, labels, 'Acknowledged');
  context.observe('deliveries of the events', await countOf(context, labels));
  const states = await statesOf(context, labels);
  context.observe(
    'deliveries that were acknowledged',
    states.filter((one) => one === 'Acknowledged').length,
  );
  await becomes('four replicas are ready', async () => (await context.judge.readyReplicas()) === 4);
};

export const diskFull: Proof = async (context) => {
  const [full, room] = context.faults;
  if (full !== undefined) await context.inflict(full);
  context.observe('answer without room', statusAndCode(await postOnce(context, 'full')));
  const stored = await context.judge.deliveriesOf(eventId(context, 'full'));
  context.observe('deliveries without room', stored.length);
  if (room !== undefined) await context.inflict(room);
  await postUntilTaken(context, 'full');
  await judgeEvent(context, 'full', (what) => what);
};

const Job = z.object({ jobId: z.string() });

/** Plans a bulk replay of what failed, and lets it run. */
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
