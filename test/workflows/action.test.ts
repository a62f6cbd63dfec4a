/**
 * The action workflow on a real Temporal server, a real Postgres and real hosts over the controlled
 * provider. Verdicts: rows, the provider's own records, the Temporal UI's attributes and details.
 */
import { ActionRig } from '../support/action-rig';
import { until } from '../support/until';

let rig: ActionRig;

beforeAll(async () => {
  rig = await ActionRig.start();
  await rig.work();
  await rig.host(0);
});
afterAll(() => rig.stop());

test('an action is routed once, carried out once, and keeps its result', async () => {
  const ref = await rig.ticket();
  const row = await rig.reaches(ref, 'completed');
  expect(row.result).toMatchObject({ outcome: 'succeeded', errorCode: null });
  expect(row.attempt).toMatchObject({ attemptNo: 1, settlement: 'completed', open: false });
  expect(rig.effects(ref)).toBe(1);
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'completed' });
  const { events } = await rig.handle(ref).fetchHistory();
  expect(events).toHaveLength(12);
});

test('the same order again is the same action; another one under its id is a conflict', async () => {
  const order = rig.order('tickets.create', { title: 'Once' });
  expect(await rig.actions.start(order)).toEqual({ kind: 'started' });
  expect(await rig.actions.start(order)).toEqual({ kind: 'existing' });
  await rig.reaches(order, 'completed');
  expect(await rig.actions.start(order)).toEqual({ kind: 'existing' });
  const other = { ...order, request: { title: 'Another' } };
  expect(await rig.actions.start(other)).toMatchObject({ kind: 'conflict' });
  expect(rig.effects(order)).toBe(1);
});

test('a refusal of the provider is a failed action with its code', async () => {
  const order = rig.order('tickets.read', { recordId: 'missing' });
  await rig.actions.start(order);
  const row = await rig.reaches(order, 'failed');
  expect(row.result).toMatchObject({ outcome: 'failed', errorCode: 'record_not_found' });
});

test('an action is cancelled while its host works, and its capacity is free again', async () => {
  const order = rig.order('reports.build', { title: 'All of it', durationMs: 60_000 });
  await rig.actions.start(order);
  await until('the job is there', () => Promise.resolve(rig.effects(order) === 1 ? true : null));
  const who = { cancelledBy: 'ada', reason: 'not needed' };
  expect(await rig.actions.cancel(order, who)).toMatchObject({ kind: 'requested' });
  const row = await rig.reaches(order, 'cancelled');
  expect(row.attempt).toMatchObject({ open: false });
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
  await expect(rig.handle(order).result()).resolves.toEqual({ state: 'cancelled' });
  expect(await rig.actions.cancel(order, who)).toMatchObject({ kind: 'already' });
});
