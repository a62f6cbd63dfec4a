/** What operators do with routes in Postgres. */
import type { RouteOperator } from '../domain/registry-ports';
import { BeginRepinRow, ConcludeRepinRow } from '../schemas/repin-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const routeOperationStatements = {
  beginRepin: {
    name: 'route_begin_repin',
    text: 'select waybill.begin_repin($1, $2, $3) as answer',
  },
  concludeRepin: {
    name: 'route_conclude_repin',
    text: 'select waybill.conclude_repin($1, $2, $3, $4) as answer',
  },
} as const satisfies Record<string, Statement>;

/** Over a pool of role `waybill_data`. */
export function routeOperator(db: Database): RouteOperator {
  const { beginRepin, concludeRepin } = routeOperationStatements;
  return {
    async beginRepin({ tenantId, actionId }, aboveFence) {
      const rows = await db.query(beginRepin, [tenantId, actionId, aboveFence]);
      return BeginRepinRow.parse(onlyRow(rows)['answer']);
    },
    async concludeRepin({ tenantId, actionId, fence }, { by, reason }, proof) {
      const repin = JSON.stringify({ by, reason, proof });
      const rows = await db.query(concludeRepin, [tenantId, actionId, fence, repin]);
      return ConcludeRepinRow.parse(onlyRow(rows)['answer']);
    },
  };
}
