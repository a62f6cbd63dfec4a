/** Routes in Postgres: reserve, settle, record, extend. One function, one round trip. */
import type { ActionTargetResolver } from '../domain/registry-ports';
import type {
  ExtendAnswer,
  RecordResultAnswer,
  ReserveAnswer,
  ReserveRequest,
  RouteAssignment,
  SettleAnswer,
  SettleRequest,
  TopologyPreference,
} from '../domain/routes';
import {
  ExtendAnswerRow,
  RecordResultAnswerRow,
  ReserveAnswerRow,
  RouteRow,
  SettleAnswerRow,
} from '../schemas/route-rows';
import type { Database, Statement } from './database';
import { onlyRow } from './database';

export const routeStatements = {
  reserve: {
    name: 'route_reserve',
    text: 'select waybill.reserve_route($1, $2, $3, $4) as answer',
  },
  settle: {
    name: 'route_settle',
    text: 'select waybill.settle_route($1, $2, $3, $4) as answer',
  },
  recordResult: {
    name: 'route_record_result',
    text: 'select waybill.record_result($1, $2, $3, $4, $5) as answer',
  },
  extend: {
    name: 'route_extend',
    text: 'select waybill.extend_reservation($1, $2, $3, $4) as answer',
  },
  read: { name: 'route_read', text: 'select waybill.read_route($1, $2) as route' },
  nextFence: { name: 'route_next_fence', text: 'select waybill.next_fence($1, $2, $3) as fence' },
} as const satisfies Record<string, Statement>;

type At = Parameters<ActionTargetResolver['recordResult']>[0];

/**
 * The resolver over a pool of role `waybill_data`.
 * @param topology where this deployment prefers new routes
 */
export function actionTargetResolver(
  db: Database,
  topology: TopologyPreference,
): ActionTargetResolver {
  const preference = JSON.stringify(topology);
  return {
    reserveRoute: (request) => reserveRoute(db, request, preference),
    settleRoute: (request) => settleRoute(db, request),
    async recordResult(at, result, evidence): Promise<RecordResultAnswer> {
      const values = [...keyOf(at), JSON.stringify(result), JSON.stringify(evidence)];
      const rows = await db.query(routeStatements.recordResult, values);
      return RecordResultAnswerRow.parse(onlyRow(rows)['answer']);
    },
    async extendReservation(at, holdMs): Promise<ExtendAnswer> {
      const rows = await db.query(routeStatements.extend, [...keyOf(at), holdMs]);
      return ExtendAnswerRow.parse(onlyRow(rows)['answer']);
    },
    async readRoute(tenant, action): Promise<RouteAssignment | null> {
      const rows = await db.query(routeStatements.read, [tenant, action]);
      return RouteRow.nullable().parse(onlyRow(rows)['route']);
    },
    async nextFence(tenant, action, aboveFence): Promise<number | null> {
      const rows = await db.query(routeStatements.nextFence, [tenant, action, aboveFence]);
      const fence = onlyRow(rows)['fence'];
      return typeof fence === 'number' ? fence : null;
    },
  };
}

async function reserveRoute(
  db: Database,
  request: ReserveRequest,
  preference: string,
): Promise<ReserveAnswer> {
  const { tenantId, actionId, ...rest } = request;
  const values = [tenantId, actionId, JSON.stringify(rest), preference];
  const rows = await db.query(routeStatements.reserve, values);
  return ReserveAnswerRow.parse(onlyRow(rows)['answer']);
}

async function settleRoute(db: Database, request: SettleRequest): Promise<SettleAnswer> {
  const { settlement, unknownCause, evidence, retryAfterMs = null } = request;
  const settle = JSON.stringify({ settlement, unknownCause, evidence, retryAfterMs });
  const rows = await db.query(routeStatements.settle, [...keyOf(request), settle]);
  return SettleAnswerRow.parse(onlyRow(rows)['answer']);
}

function keyOf(at: At): readonly unknown[] {
  return [at.tenantId, at.actionId, at.fence];
}
