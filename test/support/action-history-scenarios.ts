/**
 * The lives of an action whose histories are kept in `test/histories`: each ends where a workflow of
 * the last release may stand when a new build takes it over.
 */
import type { ActionRef } from '../../src/domain/action-service';
import { DENY_UPDATE, RESOLVE_UPDATE } from '../../src/domain/action-activities';
import type { ActionRig } from './action-rig';
import { until } from './until';

export type ActionScenario = (rig: ActionRig) => Promise<ActionRef>;

export const ACTION_SCENARIOS: Readonly<Record<string, ActionScenario>> = {
  'action-completed-at-once': async (rig) => {
    const ref = await rig.ticket();
    await rig.reaches(ref, 'completed');
    await rig.handle(ref).result();
    return ref;
  },

  'action-found-by-its-host': async (rig) => {
    await rig.holdEffects(1);
    const ref = await rig.ticket();
    await rig.reaches(ref, 'completed');
    await rig.handle(ref).result();
    return ref;
  },

  'action-cancelled-while-running': async (rig) => {
    const order = rig.order('reports.build', { title: 'All of it', durationMs: 60_000 });
    await rig.actions.start(order);
    await until('it works', () => Promise.resolve(rig.effects(order) === 1 ? true : null));
    await rig.actions.cancel(order, { cancelledBy: 'ada', reason: 'not needed' });
    await rig.handle(order).result();
    return order;
  },

  'action-needs-an-operator': async (rig) => {
    const ref = await doubtful(rig);
    await rig.says(ref, /Needs an operator/);
    return ref;
  },

  'action-resolved-by-an-operator': async (rig) => {
    const ref = await doubtful(rig);
    await rig.says(ref, /Needs an operator/);
    const resolution = { outcome: 'failed', by: 'ada', reason: 'there is no such ticket' };
    await rig.handle(ref).executeUpdate(RESOLVE_UPDATE, { args: [resolution] });
    await rig.handle(ref).result();
    return ref;
  },

  'action-waiting-for-an-approval': async (rig) => {
    const ref = await forApproval(rig);
    await rig.says(ref, /Waits for an approval/);
    return ref;
  },

  'action-approved': async (rig) => {
    const ref = await forApproval(rig);
    await rig.says(ref, /Waits for an approval/);
    await rig.actions.decide(ref, { decision: 'approved', by: 'kate', reason: 'checked' });
    await rig.reaches(ref, 'completed');
    await rig.handle(ref).result();
    return ref;
  },

  'action-denied-in-the-ui': async (rig) => {
    const ref = await forApproval(rig);
    await rig.says(ref, /Waits for an approval/);
    const denial = { by: 'kate', reason: 'wrong amount' };
    await rig.handle(ref).executeUpdate(DENY_UPDATE, { args: [denial] });
    await rig.handle(ref).result();
    return ref;
  },

  'action-waiting-for-a-route': async (rig) => {
    await rig.db.rows(`update waybill.replicas set status = 'draining'`);
    const ref = await rig.ticket({ deadlineMs: 3_600_000 });
    await rig.says(ref, /Waits for a route/);
    return ref;
  },
};

async function forApproval(rig: ActionRig): Promise<ActionRef> {
  await rig.db.rows(
    `update waybill.bindings set approval_required = true where capability_id = 'tickets.create_keyed'`,
  );
  return await rig.ticket({ deadlineMs: 3_600_000 }, 'tickets.create_keyed');
}

async function doubtful(rig: ActionRig): Promise<ActionRef> {
  await rig.holdEffects(1);
  const ref = await rig.ticket({}, 'tickets.create_blind');
  await rig.reaches(ref, 'needs_operator');
  await rig.holdEffects(0);
  return ref;
}
