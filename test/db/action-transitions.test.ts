/**
 * The action's state machine: the domain's table against the guard in a real Postgres, cell by cell.
 * Rows are put into a state as administrator without triggers, and moved as waybill_data.
 */
import type { ActionState } from '../../src/domain/action-states';
import {
  ACTION_BIRTH_STATE,
  ACTION_STATES,
  actionMayFollow,
  CLOSED_ACTION_STATES,
  isOpenAction,
} from '../../src/domain/action-states';
import { actionLedger } from '../../src/db/actions';
import { tenantId } from '../../src/domain/ids';
import type { ActionResult } from '../../src/domain/routes';
import { CLOSING_STATE } from '../../src/memory/actions';
import type { TestDatabase } from '../support/test-database';
import { createTestDatabase } from '../support/test-database';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const cells = ACTION_STATES.flatMap((from) =>
  ACTION_STATES.map((to) => [from, actionMayFollow(from, to) ? '→' : '↛', to] as const),
);
let count = 0;

/** The outcome that closes an action in this state; null: it does not close. */
function outcomeOf(state: ActionState): ActionResult['outcome'] | null {
  const outcomes = Object.keys(CLOSING_STATE) as ActionResult['outcome'][];
  return outcomes.find((outcome) => CLOSING_STATE[outcome] === state) ?? null;
}

const INSERT = `insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256,
    state, requested_by, retry_budget, deadline_at, attend_at, closed_at, result_outcome)
  values ('acme', $1, 'tickets.create', sha256(''), $2, 'ada', 5, now(),
    case when $3 then now() end, case when not $3 then now() end, $4)`;

async function born(state: ActionState): Promise<string> {
  count += 1;
  const id = `a${count}`;
  await db.rows('set session_replication_role = replica');
  await db.rows(INSERT, [id, state, isOpenAction(state), outcomeOf(state)]);
  await db.rows('reset session_replication_role');
  return id;
}

async function stateOf(id: string): Promise<string | undefined> {
  const rows = await db.rows<{ state: string }>(
    'select state from waybill.actions where action_id = $1',
    [id],
  );
  return rows[0]?.state;
}

test.each(cells)(
  '%s %s %s: the function in SQL says the same as the domain',
  async (from, _, to) => {
    const [row] = await db.rows('select waybill.action_may_follow($1, $2) as may', [from, to]);
    expect(row).toEqual({ may: actionMayFollow(from, to) });
  },
);

test.each(cells.filter(([from, , to]) => from !== to))(
  '%s %s %s: the guard of the table does the same, and so does a move',
  async (from, _, to) => {
    const id = await born(from);
    const raw = db.as('waybill_data').transaction(async (run) => {
      await run({ name: '', text: `select set_config('waybill.tenant', 'acme', true)` }, []);
      const text = `update waybill.actions set state = $2,
          attend_at = case when $3 then now() end, closed_at = case when not $3 then now() end,
          result_outcome = coalesce($4, result_outcome) where action_id = $1`;
      await run({ name: 'test_move', text }, [id, to, isOpenAction(to), outcomeOf(to)]);
      // Only whether it would be allowed: the move below starts from the same state.
      throw new Error('allowed');
    });
    const outcome = outcomeOf(to);
    const moved = await raw.catch((error: unknown) => error);
    const answer = await actionLedger(db.as('waybill_data')).moveAction({
      ...{ tenantId: tenantId('acme'), actionId: id, from: [from], to },
      ...{ reason: null, waiting: false },
      result: outcome === null ? null : { outcome, resultSha256: null, errorCode: null },
    });
    if (actionMayFollow(from, to)) {
      expect(moved).toMatchObject({ message: 'allowed' });
      expect([answer.kind, await stateOf(id)]).toEqual(['moved', to]);
    } else {
      expect(moved).toMatchObject({ code: 'WB001' });
      expect([answer.kind, await stateOf(id)]).toEqual(['refused', from]);
    }
  },
);

test.each(ACTION_STATES)('an action is born %s only if the domain says so', async (state) => {
  const birth = db.rows(INSERT, [`born-${state}`, state, isOpenAction(state), outcomeOf(state)]);
  if (state === ACTION_BIRTH_STATE) await birth;
  else await expect(birth).rejects.toMatchObject({ code: 'WB001' });
});

test('a closed action has its result, needs no attention, and no other does', async () => {
  expect(ACTION_STATES.filter((state) => !isOpenAction(state))).toEqual(CLOSED_ACTION_STATES);
  for (const state of ACTION_STATES) {
    const id = await born(state);
    const change = (column: string) =>
      db.rows(`update waybill.actions set ${column} where action_id = $1`, [id]);
    const swap = 'attend_at = case when attend_at is null then now() end';
    await expect(change(swap)).rejects.toMatchObject({ constraint: 'actions_attended' });
    if (isOpenAction(state)) continue;
    const unsay = change('result_outcome = null');
    await expect(unsay).rejects.toMatchObject({ constraint: 'actions_result' });
  }
});
