/** What the rows say of an action's route, and of the one that an operator took back. */
import { actionTargetResolver } from '../../src/db/routes';
import type { ActionRef } from '../../src/domain/action-service';
import type { RouteAssignment } from '../../src/domain/routes';
import { ANYWHERE } from '../registry/fixture';
import type { TestDatabase } from './test-database';

export interface MovedRoute {
  readonly route: RouteAssignment;
  readonly replicaId: string;
  /** Of the newest attempt. */
  readonly fence: number;
  readonly retiredFence: number | null;
  readonly proof: unknown;
  /** Lines of the audit log about moving it. */
  readonly audited: number;
}

export async function readRoute(db: TestDatabase, ref: ActionRef): Promise<MovedRoute> {
  const resolver = actionTargetResolver(db.as('waybill_data'), ANYWHERE);
  const route = await resolver.readRoute(ref.tenantId, ref.actionId);
  const [row] = await db.rows<{
    fence: string;
    retired: string | null;
    proof: unknown;
    audited: number;
  }>(
    `select (select max(fence) from waybill.route_attempts where action_id = $1) as fence,
      (select max(fence) from waybill.retired_routes where action_id = $1) as retired,
      (select proof from waybill.retired_routes where action_id = $1) as proof,
      (select count(*)::integer from waybill.audit_log
        where action = 'action.repin' and subject = 'action/' || $1) as audited`,
    [ref.actionId],
  );
  if (route === null || row === undefined) throw new Error('the action has no route');
  return {
    ...{ route, replicaId: route.replicaId, proof: row.proof, audited: row.audited },
    ...{
      fence: Number(row.fence),
      retiredFence: row.retired === null ? null : Number(row.retired),
    },
  };
}
