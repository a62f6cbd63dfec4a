/**
 * Sending once more: what is attached to, what is sent anew, and what a worker that never came leaves.
 * Real: Temporal, Postgres, a host over the controlled provider. Doubled: for single actions, what the
 * host answers. Verdicts: the provider's own records and rows.
 */
import { NativeConnection, Worker } from '@temporalio/worker';
import { actionActivities } from '../../src/activities/actions';
import { RESOLVE_UPDATE } from '../../src/domain/action-activities';
import type { ActionRef, ActionService } from '../../src/domain/action-service';
import type { HostResult } from '../../src/hosts/client/results';
import { actionService } from '../../src/services/actions/starting';
import { ActionWorkflows } from '../../src/temporal/action-starter';
import { ActionRig } from '../support/action-rig';
import { LOST, NOT_SENT, RUNNING, ScriptedHosts, UNKNOWN } from '../support/scripted-hosts';
import { startingActions } from '../support/starting-actions';
import { required } from '../support/test-database';
import { until } from '../support/until';
import { workflowBundle } from '../support/workflow-bundle';

let rig: ActionRig;
let hosts: ScriptedHosts;
const closers: (() => Promise<void>)[] = [];

beforeAll(async () => {
  rig = await ActionRig.start();
  await rig.db.rows('update waybill.settings set circuit_unknowns = 0');
  hosts = ScriptedHosts.over(rig);
  await Promise.all([rig.host(0), rig.work()]);
});
afterAll(async () => {
  for (const close of closers) await close();
  await rig.stop();
});

/** Actions of a worker that takes on one dispatch at a time, on a queue of its own. */
async function oneByOne(): Promise<ActionService> {
  const taskQueue = `${rig.queuePrefix}narrow`;
  const address = required('WAYBILL_TEST_TEMPORAL_ADDRESS');
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowBundle: { codePath: workflowBundle() },
    activities: actionActivities(rig.services),
    maxConcurrentActivityTaskExecutions: 1,
    shutdownGraceTime: 1_000,
  });
  const running = worker.run();
  closers.push(async () => {
    worker.shutdown();
    await running;
    await connection.close();
  });
  const timing = { heartbeatMs: 5_000, pickUpMs: 1_000, heldPollMs: 500 };
  const workflows = new ActionWorkflows(rig.client, taskQueue, timing);
  const starting = startingActions(rig.services.data, (action) => {
    workflows.ensure(action).catch(() => undefined);
  });
  return actionService(starting);
}

function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    opened,
    open: () => {
      open();
    },
  };
}

const DONE: HostResult = {
  ...{ kind: 'answered', outcome: { kind: 'succeeded', result: {} }, storeEpoch: 'e' },
};

/** The settlements of its attempts, oldest first. */
function attemptsOf(ref: ActionRef) {
  return rig.db.rows<{ settlement: string | null; cause: string | null }>(
    `select settlement, cause from waybill.route_attempts where action_id = $1 order by attempt_no`,
    [ref.actionId],
  );
}

const settled = (ref: ActionRef) =>
  until('its first attempt is settled', async () => {
    const attempts = await attemptsOf(ref);
    return (attempts[0]?.settlement ?? null) === null ? null : attempts;
  });

test('work that no worker asks about in time is in doubt, and is found out about', async () => {
  const actions = await oneByOne();
  const long = rig.order('tickets.create', { title: 'Long' }, { retryBudget: 0 });
  const other = rig.order('tickets.create', { title: 'In the way' });
  const working = gate();
  hosts.play(long.actionId, {
    execute: async () => {
      await working.opened;
      return RUNNING;
    },
    reconcile: () => DONE,
  });
  hosts.play(other.actionId, {
    execute: async () => {
      await settled(long);
      return null;
    },
  });
  await actions.start(long);
  await until('it is sent', () =>
    Promise.resolve(hosts.calls(long.actionId, 'execute').length === 1 ? true : null),
  );
  // Waits for the only slot, and gets it when the host of the first one says that it is at work.
  await actions.start(other);
  await until('it waits', async () => ((await rig.row(other)).state === 'reserved' ? true : null));
  working.open();
  expect(await settled(long)).toEqual([{ settlement: 'outcome_unknown', cause: 'ours' }]);
  await rig.reaches(long, 'completed');
  expect(await attemptsOf(long)).toHaveLength(1);
  expect(hosts.calls(long.actionId, 'execute')).toHaveLength(1);
  await rig.reaches(other, 'completed');
});

test('what was never sent is sent to whatever memory its host has by then', async () => {
  const order = rig.order('tickets.create', { title: 'Twice' });
  hosts.play(order.actionId, { execute: (nth) => (nth === 1 ? NOT_SENT : null) });
  await rig.actions.start(order);
  await rig.reaches(order, 'completed');
  const calls = hosts.calls(order.actionId, 'execute');
  expect(calls.map(({ storeEpoch }) => storeEpoch)).toEqual([null, null]);
  const settlements = (await attemptsOf(order)).map(({ settlement }) => settlement);
  expect(settlements).toEqual(['not_started', 'completed']);
  expect(rig.effects(order)).toBe(1);
});

describe('a host that was at work and cannot be reached', () => {
  test('may have done it: nothing is sent again, and a person is asked', async () => {
    const order = rig.order('tickets.create_blind', { title: 'At work' }, { retryBudget: 0 });
    const execute = (nth: number) => (nth === 1 ? RUNNING : NOT_SENT);
    hosts.play(order.actionId, { execute, reconcile: () => UNKNOWN });
    await rig.actions.start(order);
    const row = await rig.reaches(order, 'needs_operator');
    expect(row).toMatchObject({ uncertain: true, result: null });
    expect(await attemptsOf(order)).toEqual([{ settlement: 'outcome_unknown', cause: 'ours' }]);
    expect(hosts.calls(order.actionId, 'execute')).toHaveLength(2);
  });

  test("has used up a person's word that nothing was there", async () => {
    const order = rig.order('tickets.create_blind', { title: 'Anew' });
    const answers = [LOST, RUNNING];
    const execute = (nth: number) => answers[nth - 1] ?? NOT_SENT;
    hosts.play(order.actionId, { execute, reconcile: () => UNKNOWN });
    await rig.actions.start(order);
    for (const outcome of ['retry', 'completed']) {
      await rig.reaches(order, 'needs_operator');
      await rig.says(order, /Needs an operator/);
      const input = { outcome, by: 'ada', reason: 'looked at the provider' };
      await rig.handle(order).executeUpdate(RESOLVE_UPDATE, { args: [input] });
    }
    await rig.reaches(order, 'completed');
    const calls = hosts.calls(order.actionId, 'execute');
    expect(calls.map(({ beginAnew }) => beginAnew)).toEqual([false, true, false]);
    const settlements = (await attemptsOf(order)).map(({ settlement }) => settlement);
    expect(settlements).toEqual(['outcome_unknown', 'outcome_unknown']);
  });
});

test('nothing is left open or counted', async () => {
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});
