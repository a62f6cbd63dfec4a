/**
 * What comes late or against expectation: results, wishes and refusals that meet an action in a state
 * that did not wait for them. Real: Temporal, Postgres, a host over the controlled provider. Doubled:
 * for single actions, what the host answers. Verdicts: rows, and histories that do not grow.
 */
import {
  beginDispatch,
  beginFencing,
  closeDispatch,
  concludeFencing,
  resolveAction,
} from '../../src/db/action-steps';
import { CANCEL_SIGNAL, RESOLVE_UPDATE } from '../../src/domain/action-activities';
import type { ActionOrder, ActionRef } from '../../src/domain/action-service';
import { actionWorkflowId } from '../../src/domain/workflow-ids';
import type { HostResult } from '../../src/hosts/client/results';
import { actionService } from '../../src/services/actions/starting';
import { ActionRig } from '../support/action-rig';
import { LOST, NOT_SENT, ScriptedHosts, UNKNOWN } from '../support/scripted-hosts';
import { startingActions } from '../support/starting-actions';
import { TENANT } from '../support/action-fleet';
import { testSigner } from '../support/test-signer';
import { until } from '../support/until';

let rig: ActionRig;
let hosts: ScriptedHosts;

beforeAll(async () => {
  rig = await ActionRig.start();
  await rig.db.rows('update waybill.settings set circuit_unknowns = 0');
  hosts = ScriptedHosts.over(rig);
  await Promise.all([rig.host(0), rig.work()]);
});
afterAll(() => rig.stop());

const WHO = { cancelledBy: 'ada', reason: 'not needed' };
const SUCCESS = {
  settlement: 'completed',
  unknownCause: null,
  evidence: {},
  result: { outcome: 'succeeded', errorCode: null, detail: null },
  resultBytes: Buffer.from('{}'),
} as const;
const NO_ASK = { aboveFence: null, adopt: null };
const receipting = (ref: ActionRef) => ({ expected: null, sign: testSigner(ref, {}) });
/** A loop without a pause makes hundreds in the time of a test. */
const EVENTS = 120;

/** Its workflow ends with the row's state, nothing is left open, and it has not spun. */
async function ends(ref: ActionRef, state: string): Promise<void> {
  await rig.reaches(ref, state);
  await expect(rig.handle(ref).result()).resolves.toEqual({ state });
  expect((await rig.row(ref)).attempt?.open ?? false).toBe(false);
  expect(await events(ref)).toBeLessThan(EVENTS);
}

async function events(ref: ActionRef): Promise<number> {
  return (await rig.handle(ref).describe()).historyLength;
}

const asked = (ref: ActionRef, purpose: 'execute' | 'cancel', times: number) =>
  until(`${purpose} was called`, () =>
    Promise.resolve(hosts.calls(ref.actionId, purpose).length >= times ? true : null),
  );

test('a host that says "cancelled" although nobody asked it to closes the action', async () => {
  const order = rig.order('reports.build', { title: 'All of it', durationMs: 60_000 });
  await rig.actions.start(order);
  const job = await until('the job is there', () =>
    Promise.resolve(rig.provider.ledger.findByReference(TENANT, order.actionId)[0]),
  );
  rig.provider.ledger.cancel(TENANT, job.id);
  await ends(order, 'cancelled');
});

const FORGOTTEN: HostResult = {
  ...{ kind: 'lost', cause: 'host', reason: 'store_lost', detail: '', storeEpoch: 'new' },
};

test.each([
  ['was not sent is cancelled', NOT_SENT, NOT_SENT, 'cancelled'],
  ['was not sent is cancelled, whatever its host has lost', NOT_SENT, FORGOTTEN, 'cancelled'],
  ['may be in a memory that is lost is for a person', LOST, FORGOTTEN, 'needs_operator'],
])('what is to be stopped and %s, and nobody spins', async (_what, sent, told, state) => {
  const order = rig.order('tickets.create_blind', { title: 'Stop' });
  const execute = async () => {
    await asked(order, 'cancel', 1);
    return sent;
  };
  hosts.play(order.actionId, { execute, cancel: () => told });
  await rig.actions.start(order);
  await asked(order, 'execute', 1);
  expect((await rig.actions.cancel(order, WHO)).kind).toBe('requested');
  if (state === 'cancelled') {
    await ends(order, state);
  } else {
    expect(await rig.reaches(order, state)).toMatchObject({ reason: 'store_lost' });
    await rig.says(order, /Needs an operator/);
  }
  expect(hosts.calls(order.actionId, 'cancel').length).toBeLessThan(5);
  expect(await events(order)).toBeLessThan(EVENTS);
});

test('a fence far ahead is asked about with pauses, and is for a person at the deadline', async () => {
  const order = rig.order('tickets.create', { title: 'Fence' }, { deadlineMs: 2_000 });
  const highestFence = (Date.now() + 48 * 3_600_000) * 1_000;
  const stale: HostResult = {
    ...{ kind: 'refused', refusal: 'stale_fence', started: true, storeEpoch: 'e', highestFence },
    retryAfterMs: null,
  };
  hosts.play(order.actionId, { execute: () => LOST, reconcile: () => stale });
  await rig.actions.start(order);
  expect(await rig.reaches(order, 'needs_operator')).toMatchObject({ reason: 'stale_fence' });
  expect(hosts.calls(order.actionId, 'reconcile').length).toBeLessThan(8);
});

test('after the button of the Temporal UI the update and the signal still work', async () => {
  const order = rig.order('tickets.create_blind', { title: 'Pressed' });
  const execute = async () => {
    await asked(order, 'cancel', hosts.calls(order.actionId, 'cancel').length + 1);
    return LOST;
  };
  hosts.play(order.actionId, { execute, cancel: () => UNKNOWN });
  await rig.actions.start(order);
  await asked(order, 'execute', 1);
  await rig.handle(order).cancel();
  const resolve = async (outcome: string) => {
    await rig.reaches(order, 'needs_operator');
    await rig.says(order, /Needs an operator/);
    const input = { outcome, by: 'grace', reason: 'looked at the provider' };
    return await rig.handle(order).executeUpdate(RESOLVE_UPDATE, { args: [input] });
  };
  expect(await resolve('retry')).toEqual({ kind: 'resolved', state: 'requested' });
  await asked(order, 'execute', 2);
  await rig.handle(order).signal(CANCEL_SIGNAL, { by: 'grace', reason: 'wrong order' });
  await until('the wish is on record', async () => {
    const { cancelRequestedBy } = await rig.row(order);
    return cancelRequestedBy === 'grace' ? true : null;
  });
  expect(await resolve('cancelled')).toEqual({ kind: 'resolved', state: 'cancelled' });
  await ends(order, 'cancelled');
});

describe('a result of the first attempt', () => {
  test('comes while a second one is waited for, and closes the action', async () => {
    const order = rig.order('tickets.create_blind', { title: 'Late' });
    hosts.play(order.actionId, {
      execute: (nth) => (nth === 1 ? LOST : NOT_SENT),
      reconcile: () => UNKNOWN,
    });
    await rig.actions.start(order);
    const { attempt } = await rig.reaches(order, 'needs_operator');
    await rig.says(order, /Needs an operator/);
    const input = { outcome: 'retry', by: 'ada', reason: 'nothing is there' };
    await rig.handle(order).executeUpdate(RESOLVE_UPDATE, { args: [input] });
    await until('the second one was not sent', async () => {
      const row = await rig.row(order);
      return row.state === 'requested' && row.attempt?.attemptNo === 2 ? row : null;
    });
    const at = { ...order, fence: attempt?.fence ?? 0 };
    const closed = await closeDispatch(rig.services.data, at, SUCCESS, receipting(order));
    expect(closed.kind).toBe('closed');
    await ends(order, 'completed');
  });

  test.each(['requested', 'reserved', 'unknown'] as const)(
    'that meets it %s before its workflow looks is what the workflow ends with',
    async (state) => {
      const { order, at } = await sentOnce();
      if (state !== 'unknown') await clearedUp(order, state);
      if (state === 'reserved') await reserve(order, 2);
      expect((await rig.row(order)).state).toBe(state);
      await closeDispatch(rig.services.data, at, SUCCESS, receipting(order));
      expect((await rig.row(order)).state).toBe('completed');
      await rig.workflows.ensure(await rig.identity(order));
      await ends(order, 'completed');
      const open = await rig.db.rows(
        'select from waybill.route_attempts where action_id = $1 and settled_at is null',
        [order.actionId],
      );
      expect(open).toEqual([]);
    },
  );
});

test('whatever came, nothing is left open or counted', async () => {
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});

/** Sent by somebody who is silent since; no workflow is there. */
async function sentOnce(): Promise<{ order: ActionOrder; at: ActionRef & { fence: number } }> {
  const order = rig.order('tickets.create', { title: 'Late' });
  await actionService(startingActions(rig.services.data, () => undefined)).start(order);
  const at = { ...order, fence: await reserve(order, 1) };
  await beginDispatch(rig.services.data, { ...at, resume: false });
  const lost = { settlement: 'outcome_unknown', unknownCause: 'ours', evidence: {} } as const;
  await rig.services.routes.settleRoute({ ...at, ...lost });
  return { order, at };
}

async function reserve(order: ActionOrder, attemptNo: number): Promise<number> {
  const answer = await rig.services.routes.reserveRoute({
    ...(await rig.identity(order)),
    ...{ owner: actionWorkflowId(order), attemptNo, holdMs: 30_000, aboveFence: null },
  });
  if (answer.kind !== 'reserved') throw new Error(answer.kind);
  return answer.reservation.fence;
}

/** It may be sent again: a person says so, or doing it again finds out. */
async function clearedUp(ref: ActionRef, by: 'requested' | 'reserved'): Promise<void> {
  const { data } = rig.services;
  const { answer } = await beginFencing(data, ref, NO_ASK, testSigner(ref, {}));
  if (answer.kind !== 'ask') throw new Error(answer.kind);
  const found =
    by === 'reserved'
      ? ({ kind: 'repeatable', detail: '' } as const)
      : ({ kind: 'needs_operator', reason: 'timed_out', detail: '' } as const);
  const written = { ...found, evidence: {}, adopted: null, resultBytes: null };
  await concludeFencing(data, { ...ref, fence: answer.fence }, written, receipting(ref));
  if (by === 'reserved') return;
  const retry = { outcome: 'retry', by: 'ada', reason: 'nothing is there', errorCode: null };
  await resolveAction(data, ref, retry, testSigner(ref, {}));
}
