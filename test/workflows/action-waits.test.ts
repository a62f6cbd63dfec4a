/**
 * An action that cannot be carried out at once: what it waits for, what it shows, and how it ends. Real
 * Temporal, Postgres, hosts and provider; no host runs until a test starts it.
 */
import type { ActionRef } from '../../src/domain/action-service';
import { ActionRig } from '../support/action-rig';
import { until } from '../support/until';

let rig: ActionRig;

beforeEach(async () => {
  rig = await ActionRig.start();
  await rig.work();
});
afterEach(() => rig.stop());

const WHO = { cancelledBy: 'ada', reason: 'not needed' };

/** The catalog says that the host is there; nobody listens. */
async function deadHost(): Promise<void> {
  const host = await rig.host(0);
  await host.stop();
  await rig.db.rows(
    `update waybill.replicas set status = 'ready', lease_ends_at = clock_timestamp() + interval '1 hour'
      where replica_id = 'h1'`,
  );
}

test('without a host it waits, says so, and goes on once there is one', async () => {
  const ref = await rig.ticket();
  expect(await rig.says(ref, /Waits for a route/)).toContain('no host');
  const waiting = await rig.row(ref);
  expect(waiting.state).toBe('requested');
  expect(waiting.reason).toContain('replica_unavailable');
  await rig.host(0);
  await rig.reaches(ref, 'completed');
  expect(rig.effects(ref)).toBe(1);
});

test('at its deadline an action without a route fails, and nothing was sent', async () => {
  const ref = await rig.ticket({ deadlineMs: 1_200 });
  const row = await rig.reaches(ref, 'failed');
  expect(row.result).toMatchObject({ outcome: 'failed', errorCode: 'deadline_exceeded' });
  expect(rig.effects(ref)).toBe(0);
});

test('a binding that is gone is a failure at once, with the reason', async () => {
  await rig.db.rows(`update waybill.credential_revisions set status = 'revoked'`);
  const order = rig.order('tickets.create', { title: 'Broken lamp' });
  await expect(rig.actions.start(order)).rejects.toMatchObject({ code: 'capability_unavailable' });
  await rig.db.rows(`update waybill.credential_revisions set status = 'active'`);
  await rig.actions.start(order);
  await rig.says(order, /Waits for a route/);
  await rig.db.rows(`update waybill.credential_revisions set status = 'revoked'`);
  const row = await rig.reaches(order, 'failed');
  expect(row.result?.errorCode).toBe('binding_unavailable.credential_revoked');
});

test('a request that its capability does not accept is refused before anything is stored', async () => {
  const order = rig.order('tickets.create', { title: 7 });
  await expect(rig.actions.start(order)).rejects.toMatchObject({
    code: 'action_request_invalid',
    field: 'request/title',
  });
  await expect(rig.row(order)).rejects.toThrow('no such action');
});

test('a cancel before anything was sent is the end, at once', async () => {
  const ref = await rig.ticket();
  await rig.says(ref, /Waits for a route/);
  expect(await rig.actions.cancel(ref, WHO)).toMatchObject({ kind: 'cancelled' });
  await expect(rig.handle(ref).result()).resolves.toEqual({ state: 'cancelled' });
  expect(await rig.actions.cancel(ref, WHO)).toMatchObject({ kind: 'already' });
});

test('a cancel of what is done comes too late', async () => {
  await rig.host(0);
  const ref = await rig.ticket();
  await rig.reaches(ref, 'completed');
  expect(await rig.actions.cancel(ref, WHO)).toMatchObject({ kind: 'too_late' });
});

test('the signal and the button of the Temporal UI cancel, too', async () => {
  const [signalled, pressed] = [await rig.ticket(), await rig.ticket()];
  await rig.says(signalled, /Waits/);
  await rig.handle(signalled).signal('cancel', { by: 'grace', reason: 'wrong order' });
  await rig.reaches(signalled, 'cancelled');
  await rig.says(pressed, /Waits/);
  await rig.handle(pressed).cancel();
  await rig.reaches(pressed, 'cancelled');
  await expect(rig.handle(pressed).result()).resolves.toEqual({ state: 'cancelled' });
});

test('a host that does not answer is tried again within the budget, then it fails: nothing began', async () => {
  await deadHost();
  const ref = await rig.ticket({ retryBudget: 1 });
  const row = await rig.reaches(ref, 'failed');
  expect(row.result?.errorCode).toBe('retry_budget_exhausted');
  expect(row.attempt).toMatchObject({ attemptNo: 2, settlement: 'not_started' });
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});

test('work that outlasts the time-out of a call is attached to again, and is one effect', async () => {
  await rig.host(0);
  await rig.db.rows('update waybill.capabilities set timeout_ms = 1000');
  const order = rig.order('reports.build', { title: 'Long', durationMs: 6_000 });
  await rig.actions.start(order);
  await rig.reaches(order, 'completed');
  expect(rig.effects(order)).toBe(1);
});

test('stopping one host moves new work to its peer and leaves pinned work pinned', async () => {
  const [first] = await Promise.all([rig.host(0), rig.host(1)]);
  const pinned = rig.order('reports.build', { title: 'Pinned', durationMs: 1_500 });
  await rig.actions.start(pinned);
  const replica = await replicaOf(pinned);
  const [running, peer] = replica === 'h1' ? [first, 'h2'] : [rig.running('h2'), 'h1'];
  await running.drain();
  const fresh = await Promise.all([rig.ticket(), rig.ticket(), rig.ticket()]);
  for (const ref of fresh) {
    await rig.reaches(ref, 'completed');
    expect(await replicaOf(ref)).toBe(peer);
  }
  await rig.reaches(pinned, 'completed');
  expect(await replicaOf(pinned)).toBe(replica);
});

async function replicaOf(ref: ActionRef): Promise<string> {
  return await until('it has a route', async () => {
    const [row] = await rig.db.rows<{ replica_id: string }>(
      'select replica_id from waybill.routes where action_id = $1',
      [ref.actionId],
    );
    return row?.replica_id;
  });
}

test('while Postgres refuses, the action waits and says so, then goes on', async () => {
  await rig.host(0);
  const reserve = 'function waybill.reserve_route(text, text, jsonb, jsonb)';
  await rig.db.rows(`revoke execute on ${reserve} from waybill_data`);
  const ref = await rig.ticket();
  await rig.says(ref, /A step could not be made/);
  await rig.db.rows(`grant execute on ${reserve} to waybill_data`);
  await rig.reaches(ref, 'completed', 30_000);
});
