/** Actions in Postgres: started once, moved by the state machine. */
import type {
  ActionLedger,
  ActionMove,
  ActionStart,
  MoveAnswer,
  StartAnswer,
} from '../domain/registry-ports';
import { MoveAnswerRow, StartAnswerRow } from '../schemas/action-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const actionStatements = {
  start: {
    name: 'action_start',
    text: 'select waybill.start_action($1, $2, $3, $4, $5) as answer',
  },
  move: {
    name: 'action_move',
    text: 'select waybill.move_action($1, $2, $3, $4, $5) as answer',
  },
} as const satisfies Record<string, Statement>;

/** The ledger of actions over a pool of role `waybill_data`. */
export function actionLedger(db: Database): ActionLedger {
  return {
    startAction: (start) => startAction(db, start),
    moveAction: (move) => moveAction(db, move),
  };
}

async function startAction(db: Database, start: ActionStart): Promise<StartAnswer> {
  const { affinityKey, requestedBy, deadlineMs, retryBudget, attendAfterMs, deliveryId } = start;
  const { ifCatalogRevision, policyDecision } = start;
  const rows = await db.query(actionStatements.start, [
    start.tenantId,
    start.actionId,
    start.capabilityId,
    start.request,
    JSON.stringify({
      ...{ affinityKey, requestedBy, deadlineMs, retryBudget, attendAfterMs, deliveryId },
      ...{ ifCatalogRevision, policyDecision },
    }),
  ]);
  return StartAnswerRow.parse(onlyRow(rows)['answer']);
}

async function moveAction(db: Database, move: ActionMove): Promise<MoveAnswer> {
  const { reason, waiting, result } = move;
  const rows = await db.query(actionStatements.move, [
    move.tenantId,
    move.actionId,
    move.from,
    move.to,
    JSON.stringify({ reason, waiting, result }),
  ]);
  return MoveAnswerRow.parse(onlyRow(rows)['answer']);
}
