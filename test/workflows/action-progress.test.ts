/**
 * Long actions: how far a host says it is, shown while it is under way and taken for nothing more. Real:
 * Temporal, Postgres, a host over the controlled provider. Doubled: for single actions, what the host
 * answers. Verdicts: rows, histories and the provider's own records.
 */
import { showAction } from '../../src/db/action-lists';
import { noteProgress } from '../../src/db/action-steps';
import type { ActionRef } from '../../src/domain/action-service';
import type { HostResult } from '../../src/hosts/client/results';
import { ActionRig } from '../support/action-rig';
import { LOST, RUNNING, ScriptedHosts, runningWith } from '../support/scripted-hosts';
import { until } from '../support/until';

let rig: ActionRig;
let hosts: ScriptedHosts;

beforeAll(async () => {
  rig = await ActionRig.start();
  await rig.db.rows('update waybill.settings set circuit_unknowns = 0');
  // Shorter than a call needs: what holds it is the sending.
  Object.assign(rig.services, { holdMs: 10_000 });
  hosts = ScriptedHosts.over(rig);
  await Promise.all([rig.host(0), rig.work()]);
});
afterAll(() => rig.stop());

const DONE: HostResult = {
  ...{ kind: 'answered', outcome: { kind: 'succeeded', result: {} }, storeEpoch: 'e' },
};
const ADA = { cancelledBy: 'ada', reason: 'not needed' };

const progressOf = async (ref: ActionRef) =>
  (await showAction(rig.services.data, ref))?.progress ?? null;

const says = (ref: ActionRef, note: RegExp) =>
  until(`its host says ${String(note)}`, async () => {
    const progress = await progressOf(ref);
    return progress !== null && note.test(progress.note) ? progress : null;
  });

const openAttempt = async (ref: ActionRef) => {
  const [row] = await rig.db.rows<{ fence: string; deadline: string }>(
    `select fence::text, deadline_at::text as deadline from waybill.route_attempts
      where action_id = $1 and settled_at is null`,
    [ref.actionId],
  );
  return row;
};

/** What the call under way shows in the Temporal UI. */
async function heartbeat(ref: ActionRef): Promise<string> {
  const { raw } = await rig.handle(ref).describe();
  const payloads = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
  return payloads.map(({ data }) => Buffer.from(data ?? '').toString()).join('');
}

test('while a call lasts, the action and its page show what the host says; at its end nothing', async () => {
  const order = rig.order('reports.build', { title: 'Yearly', durationMs: 60_000 });
  await rig.actions.start(order);
  expect(await says(order, /is being built/)).toMatchObject({ percent: null });
  await until('the call shows it', async () =>
    (await heartbeat(order)).includes('is being built') ? true : null,
  );
  expect((await rig.row(order)).state).toBe('dispatching');
  await rig.actions.cancel(order, ADA);
  await rig.reaches(order, 'cancelled');
  expect(await progressOf(order)).toBeNull();
  expect(rig.effects(order)).toBe(1);
});

test('a host that answers before its end is asked again, and holds its reservation', async () => {
  const order = rig.order('tickets.create', { title: 'Long' }, { retryBudget: 0 });
  const deadlines: (string | undefined)[] = [];
  hosts.play(order.actionId, {
    execute: async (nth) => {
      deadlines.push((await openAttempt(order))?.deadline);
      return nth < 5 ? runningWith({ note: `part ${String(nth)}`, percent: nth * 20 }) : DONE;
    },
  });
  await rig.actions.start(order);
  expect(await says(order, /part 2/)).toMatchObject({ percent: 40 });
  expect(await rig.says(order, /Its host is at work/)).toContain('It says: `part 1` (20 %)');
  await rig.reaches(order, 'completed', 20_000);
  expect(deadlines).toEqual([...new Set(deadlines)].sort());
  expect(deadlines).toHaveLength(5);
  const { events = [] } = await rig.handle(order).fetchHistory();
  const sent = events?.filter((event) => {
    const type = event.activityTaskScheduledEventAttributes?.activityType?.name;
    return type === 'dispatchAction';
  });
  // The first answer is shown at once; from then on one call of the activity follows the host.
  expect(sent).toHaveLength(2);
});

test('in doubt, a host that is still at work goes on saying how far it is', async () => {
  const order = rig.order('tickets.create_blind', { title: 'Doubt' }, { retryBudget: 0 });
  const ending = { ended: false };
  hosts.play(order.actionId, {
    execute: (nth) => (nth === 1 ? RUNNING : LOST),
    reconcile: () => (ending.ended ? DONE : runningWith({ note: 'nearly there', percent: 90 })),
  });
  await rig.actions.start(order);
  expect(await says(order, /nearly there/)).toMatchObject({ percent: 90 });
  expect(await rig.row(order)).toMatchObject({ state: 'reconciling', uncertain: true });
  ending.ended = true;
  await rig.reaches(order, 'completed');
  expect(await progressOf(order)).toBeNull();
});

test('a word about an attempt that is over is dropped, and the same word again is no news', async () => {
  const order = rig.order('reports.build', { title: 'Late', durationMs: 60_000 });
  hosts.play(order.actionId, { read: () => LOST });
  await rig.actions.start(order);
  await rig.reaches(order, 'dispatching');
  const { fence = '' } = (await openAttempt(order)) ?? {};
  const at = { ...order, fence: Number(fence) };
  const note = (note: string, more: object = {}) =>
    noteProgress(rig.services.data, { ...at, ...more }, { note, percent: 1 });
  await note('from before', { fence: at.fence - 1 });
  expect(await progressOf(order)).toBeNull();
  await note('now');
  const first = await progressOf(order);
  await note('now');
  expect(await progressOf(order)).toEqual(first);
  await rig.actions.cancel(order, ADA);
  await rig.reaches(order, 'cancelled');
  await note('too late');
  expect(await progressOf(order)).toBeNull();
});

test('nothing is left open or counted', async () => {
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});
