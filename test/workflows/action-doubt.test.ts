/**
 * An action whose answer was lost: what it does to find out, on a real Temporal server, a real Postgres
 * and real hosts over the controlled provider, which is told to commit an effect and not to answer.
 * Verdicts: the provider's own records, rows, and what the Temporal UI shows.
 */
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { ActionRef } from '../../src/domain/action-service';
import { RESOLVE_UPDATE } from '../../src/domain/action-activities';
import { ActionRig } from '../support/action-rig';
import { until } from '../support/until';

let rig: ActionRig;

beforeAll(async () => {
  rig = await ActionRig.start();
  await rig.work();
  await Promise.all([rig.host(0), rig.host(1)]);
});
afterEach(() => rig.holdEffects(0));
afterAll(() => rig.stop());

/** A ticket whose effect is there and whose answer never comes. */
async function unanswered(capabilityId: string): Promise<ActionRef> {
  await rig.holdEffects(1);
  const ref = await rig.ticket({}, capabilityId);
  await until('the effect is there', () => Promise.resolve(rig.effects(ref) === 1 ? true : null));
  return ref;
}

async function needsOperator(): Promise<ActionRef> {
  const ref = await unanswered('tickets.create_blind');
  await rig.reaches(ref, 'needs_operator');
  return ref;
}

const RESOLUTION = { outcome: 'completed', by: 'grace', reason: 'ticket 7 is there' };

test('a lookup finds the effect that nobody answered', async () => {
  const ref = await unanswered('tickets.create');
  const row = await rig.reaches(ref, 'completed');
  expect(row.attempt).toMatchObject({ attemptNo: 1, settlement: 'outcome_unknown' });
  expect(rig.effects(ref)).toBe(1);
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});

test('what the provider knows by our key is done again, and is still one effect', async () => {
  const ref = await unanswered('tickets.create_keyed');
  const row = await rig.reaches(ref, 'completed');
  expect(row.attempt).toMatchObject({ attemptNo: 2, settlement: 'completed' });
  expect(rig.effects(ref)).toBe(1);
});

test('where nobody can find out, a person is asked, and found by the search attributes', async () => {
  const ref = await needsOperator();
  const details = await rig.says(ref, /Needs an operator/);
  expect(details).toContain(ref.actionId);
  expect(details).toContain('`resolve`');
  const wish = { cancelledBy: 'ada', reason: 'not needed' };
  expect(await rig.actions.cancel(ref, wish)).toMatchObject({ kind: 'needs_operator' });
  await rig.says(ref, /asked to stop by ada/);
  await until('it is listed', async () => {
    const query =
      'WaybillState = "needs_operator" and WaybillTenant = "acme" and ' +
      'WaybillConnector = "tickets" and WaybillWaitingSince is not null';
    for await (const found of rig.client.workflow.list({ query })) {
      if (found.workflowId.endsWith(ref.actionId)) return found;
    }
    return null;
  });
  expect(rig.effects(ref)).toBe(1);
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});

test('the update of an operator closes it, with an audit line', async () => {
  const ref = await needsOperator();
  await rig.says(ref, /Needs an operator/);
  const handle = rig.handle(ref);
  expect(await handle.executeUpdate(RESOLVE_UPDATE, { args: [RESOLUTION] })).toEqual({
    kind: 'resolved',
    state: 'completed',
  });
  await expect(handle.result()).resolves.toEqual({ state: 'completed' });
  const audit = await rig.db.rows(
    `select actor, action, detail->>'reason' as reason from waybill.audit_log where subject = $1`,
    [`action/${ref.actionId}`],
  );
  expect(audit).toEqual([
    { actor: 'grace', action: 'action.resolve', reason: 'ticket 7 is there' },
  ]);
});

test('an operator who is certain that there is no effect has it sent again, to the same host', async () => {
  const ref = await needsOperator();
  await rig.says(ref, /Needs an operator/);
  const again = { ...RESOLUTION, outcome: 'retry' };
  await rig.handle(ref).executeUpdate(RESOLVE_UPDATE, { args: [again] });
  const row = await rig.reaches(ref, 'completed');
  expect(row.attempt).toMatchObject({ attemptNo: 2 });
  const attempts = await rig.db.rows<{ replica_id: string }>(
    'select replica_id from waybill.route_attempts where action_id = $1',
    [ref.actionId],
  );
  expect(attempts).toHaveLength(2);
  expect(new Set(attempts.map((attempt) => attempt.replica_id)).size).toBe(1);
  // The operator was wrong: the price of that certainty.
  expect(rig.effects(ref)).toBe(2);
});

test.each([
  ['no outcome', {}, /outcome/],
  ['an outcome that is none', { ...RESOLUTION, outcome: 'done' }, /outcome/],
  ['nobody', { ...RESOLUTION, by: '' }, /`by`/],
])('an update with %s is refused, and says what to write', async (_what, given, said) => {
  const ref = await needsOperator();
  await rig.says(ref, /Needs an operator/);
  const update = rig.handle(ref).executeUpdate(RESOLVE_UPDATE, { args: [given] });
  const error = await update.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(WorkflowUpdateFailedError);
  expect(String((error as WorkflowUpdateFailedError).cause?.message)).toMatch(said);
  expect((await rig.row(ref)).state).toBe('needs_operator');
});

test('an update to an action that needs no operator is refused', async () => {
  const order = rig.order('reports.build', { title: 'All of it', durationMs: 3_000 });
  await rig.actions.start(order);
  await until('it works', () => Promise.resolve(rig.effects(order) === 1 ? true : null));
  const update = rig.handle(order).executeUpdate(RESOLVE_UPDATE, { args: [RESOLUTION] });
  await expect(update).rejects.toThrow(WorkflowUpdateFailedError);
  await rig.reaches(order, 'completed');
});

test('a workflow that was terminated goes on from the row, and nothing is done twice', async () => {
  const order = rig.order('reports.build', { title: 'All of it', durationMs: 2_000 });
  await rig.actions.start(order);
  await until('it works', () => Promise.resolve(rig.effects(order) === 1 ? true : null));
  await rig.handle(order).terminate('by an operator');
  await rig.workflows.ensure(await rig.identity(order));
  await rig.reaches(order, 'completed');
  expect(rig.effects(order)).toBe(1);
  await until('nothing is open', async () => ((await rig.balance()).open === 0 ? true : null));
  expect(await rig.balance()).toEqual({ open: 0, assigned: 0, held: 0 });
});
