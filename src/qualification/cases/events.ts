/** Events of the vendor: what became of them in the databases and at the target. */
import { createHash } from 'node:crypto';
import { becomes, type CaseContext } from './context';
import { eventId, targetRecords, type TargetRecord } from './vendor';

/** Everything that there is of one event of the vendor. */
export async function judgeEvent(
  context: CaseContext,
  label: string,
  name: (what: string) => string,
): Promise<void> {
  await eachIn(context, [label], 'Acknowledged');
  const live = await liveOf(context, label);
  const records = await recordsOf(context, label);
  const ids = new Set(records.map(({ deliveryId }) => deliveryId));
  context.observe(name('deliveries of the event'), live.length);
  context.observe(name('state'), live[0]?.state ?? 'none');
  context.observe(
    name('the target took it'),
    records.some(({ status }) => status === 200),
  );
  context.observe(name('delivery ids at the target'), ids.size);
  context.observe(name('receipt chains'), await context.judge.deliveryChains(live[0]?.id ?? ''));
  context.observe(name('open attempts'), live[0]?.openAttempts ?? 0);
}

/** What the target got of it: the bytes of each event are its own. */
export async function recordsOf(context: CaseContext, label: string): Promise<TargetRecord[]> {
  const body = JSON.stringify({ ref: 'refs/heads/main', id: eventId(context, label) });
  const digest = createHash('sha256').update(body).digest('hex');
  return (await targetRecords(context)).filter(({ sha256 }) => sha256 === digest);
}

export async function liveOf(context: CaseContext, label: string) {
  const all = await context.judge.deliveriesOf(eventId(context, label));
  return all.filter(({ state }) => state !== 'Deduplicated');
}

export async function statesOf(context: CaseContext, labels: readonly string[]): Promise<string[]> {
  const rows = await Promise.all(labels.map((label) => liveOf(context, label)));
  return rows.flat().map(({ state }) => state);
}

export async function idsOf(context: CaseContext, labels: readonly string[]): Promise<string[]> {
  const rows = await Promise.all(labels.map((label) => liveOf(context, label)));
  return rows.flat().map(({ id }) => id);
}

export async function countOf(context: CaseContext, labels: readonly string[]): Promise<number> {
  return (await idsOf(context, labels)).length;
}

export async function eachIn(
  context: CaseContext,
  labels: readonly string[],
  state: string,
): Promise<void> {
  await becomes(`deliveries are ${state}`, async () => {
    const states = await statesOf(context, labels);
    return states.length >= labels.length && states.every((one) => one === state);
  });
}
