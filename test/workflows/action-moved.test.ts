/**
 * Actions that are moved to another host, and actions whose provider wants to be left alone. Real
 * Temporal, Postgres, hosts and provider; effects are counted at the provider.
 */
import { routeOperator } from '../../src/db/route-operations';
import { readRoute, type MovedRoute } from '../support/moved-routes';
import type { ActionRef } from '../../src/domain/action-service';
import { repinAction } from '../../src/services/actions/repin';
import { nudge } from '../../src/services/actions/nudging';
import { ActionRig } from '../support/action-rig';
import { until } from '../support/until';

let rig: ActionRig;
beforeEach(async () => {
  rig = await ActionRig.start();
  await rig.work();
});
afterEach(() => rig.stop());

const WISH = { by: 'ada', reason: 'its host is gone for good' };

function repin(ref: ActionRef) {
  const operator = routeOperator(rig.services.data, rig.services.sign);
  const wake = (action: ActionRef) => nudge(rig.starting, action);
  return repinAction({ operator, hosts: rig.services.hosts, nudge: wake }, ref, WISH);
}

async function limitEffects(count: number, retryAfterS: number): Promise<void> {
  await fetch(`${rig.provider.url}/control/limits`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ count, retryAfterS }),
  });
}

/** What is asked about its first attempt, once that is settled and the action waits to be reserved. */
function waits(ref: ActionRef): Promise<MovedRoute> {
  return until(`${ref.actionId} was not started and waits`, async () => {
    const { state, attempt } = await rig.row(ref);
    if (state !== 'requested' || attempt?.settlement !== 'not_started') return null;
    return await readRoute(rig.db, ref);
  });
}

test('a host that is gone for good: its action is moved, and done once on another one', async () => {
  const dead = await rig.host(0);
  await dead.stop();
  // The catalog says that the host is there; nobody listens.
  await rig.db.rows(
    `update waybill.replicas set status = 'ready', lease_ends_at = clock_timestamp() + interval '1 hour'
      where replica_id = 'h1'`,
  );
  const ref = await rig.ticket({ retryBudget: 100 });
  const before = await waits(ref);
  await rig.db.rows(`update waybill.replicas set status = 'offline' where replica_id = 'h1'`);
  await rig.host(1);
  await rig.says(ref, /never moved to another/);
  expect(await repin(ref)).toEqual({ kind: 'repinned' });
  await rig.reaches(ref, 'completed');
  expect(rig.effects(ref)).toBe(1);
  const after = await readRoute(rig.db, ref);
  expect([before.replicaId, after.replicaId]).toEqual(['h1', 'h2']);
  expect(after.fence).toBeGreaterThan(after.retiredFence ?? Number.POSITIVE_INFINITY);
  expect(after.retiredFence).toBeGreaterThan(before.fence);
  expect(after.proof).toMatchObject({ answer: 'not_sent', sealed: false });
  expect(after.audited).toBe(1);
  expect(await repin(ref)).toMatchObject({ kind: 'refused', why: 'closed' });
});

test('a host that answers is sealed: nothing of the old route begins any more', async () => {
  await rig.host(0);
  await limitEffects(1, 3_600);
  const ref = await rig.ticket();
  const { fence, route } = await waits(ref);
  expect(await repin(ref)).toEqual({ kind: 'repinned' });
  expect((await readRoute(rig.db, ref)).proof).toMatchObject({
    answer: 'not_started',
    sealed: true,
  });
  expect(await repin(ref)).toEqual({ kind: 'already' });
  const late = await rig.services.hosts.execute(
    {
      ...{ route, fence, incarnation: 1, storeEpoch: null, sentAgoMs: null, beginAnew: false },
      ...{ approval: null, expiresAtMs: Date.now() + 30_000, timeoutMs: 5_000 },
      signal: new AbortController().signal,
    },
    Buffer.from(JSON.stringify({ title: 'Broken lamp' })),
  );
  expect(late).toMatchObject({ kind: 'refused', refusal: 'stale_fence', started: false });
  expect(rig.effects(ref)).toBe(0);
});

test('a host that was spoken to and does not answer any more keeps its action', async () => {
  const host = await rig.host(0);
  await limitEffects(1, 3_600);
  const ref = await rig.ticket();
  const before = await waits(ref);
  await host.stop();
  expect(await repin(ref)).toMatchObject({ kind: 'refused', why: 'host_unreachable' });
  expect(await readRoute(rig.db, ref)).toMatchObject({ replicaId: before.replicaId, audited: 0 });
});

test('what the provider puts off is waited for as long as it wants, and costs no attempt', async () => {
  await rig.host(0);
  await limitEffects(3, 1);
  const ref = await rig.ticket({ retryBudget: 0 });
  await rig.says(ref, /wants to be left alone for 1 s/);
  const row = await rig.reaches(ref, 'completed');
  expect(row.attempt?.attemptNo).toBe(4);
  expect(rig.effects(ref)).toBe(1);
});

test('meanwhile nothing else is sent to that account, and a deadline ends the waiting', async () => {
  await rig.host(0);
  await limitEffects(1, 3_600);
  const first = await rig.ticket({ deadlineMs: 2_500 });
  await waits(first);
  const second = await rig.ticket();
  await rig.says(second, /used up its rate/);
  expect((await rig.row(second)).attempt).toBeNull();
  const row = await rig.reaches(first, 'failed');
  expect(row.result?.errorCode).toBe('deadline_exceeded');
  expect(rig.effects(first) + rig.effects(second)).toBe(0);
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});
