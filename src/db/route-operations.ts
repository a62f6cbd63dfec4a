/** What operators do with routes in Postgres. */
import type { ActionSigner } from '../domain/receipts';
import type { RouteOperator } from '../domain/registry-ports';
import { BeginRepinRow, ConcludeRepinRow } from '../schemas/repin-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';
import { writeReceipted } from './receipted';

export const routeOperationStatements = {
  beginRepin: {
    name: 'route_begin_repin',
    text: 'select waybill.begin_repin($1, $2, $3) as answer',
  },
  concludeRepin: {
    name: 'route_conclude_repin',
    text: 'select waybill.conclude_repin($1, $2, $3, $4, $5) as answer',
  },
} as const satisfies Record<string, Statement>;

/** Over a pool of role `waybill_data`; what is moved is moved with its receipt. */
export function routeOperator(db: Database, sign: ActionSigner): RouteOperator {
  const { beginRepin, concludeRepin } = routeOperationStatements;
  return {
    async beginRepin({ tenantId, actionId }, aboveFence) {
      const rows = await db.query(beginRepin, [tenantId, actionId, aboveFence]);
      return BeginRepinRow.parse(onlyRow(rows)['answer']);
    },
    async concludeRepin({ tenantId, actionId, fence }, { by, reason }, proof) {
      const values = [tenantId, actionId, fence, JSON.stringify({ by, reason, proof })];
      const signer = sign({ tenantId, actionId }, { fence, by, reason });
      const receipting = { expected: null, sign: signer };
      const row = await writeReceipted(db, concludeRepin, receipting, (receipt) => [
        ...values,
        receipt,
      ]);
      return ConcludeRepinRow.parse(row['answer']);
    },
  };
}
