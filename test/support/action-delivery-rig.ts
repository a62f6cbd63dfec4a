/**
 * Deliveries whose target is an action: the rigs of both on one database, one provider and one Temporal
 * server. `subscribe` makes the subscription; nothing is dispatched before a worker runs.
 */
import type { ActionRef } from '../../src/domain/action-service';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryActionId } from '../../src/domain/delivery-actions';
import type { Lane } from '../../src/domain/lanes';
import type { ActionTarget } from '../../src/schemas/targets';
import { ActionRig } from './action-rig';
import type { CatalogFixture } from './catalog-fixture';
import { DeliveryRig } from './delivery-rig';

export interface AttemptRow {
  readonly attempt_no: number;
  readonly outcome: string | null;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly status: number | null;
  readonly duration_ms: number | null;
  readonly answer_sha256: string | null;
  readonly answer_head: string | null;
}

/** The title comes from the payload. */
export const TICKET: ActionTarget = {
  capabilityId: 'tickets.create',
  request: { title: { from: '/issue/title' } },
  affinity: null,
  timeoutMs: 10_000,
};
export const PAYLOAD = JSON.stringify({ issue: { title: 'Broken lamp' } });

export class ActionDeliveryRig {
  readonly actions: ActionRig;
  readonly deliveries: DeliveryRig;

  private constructor(actions: ActionRig, deliveries: DeliveryRig) {
    this.actions = actions;
    this.deliveries = deliveries;
  }

  /** @param starting what a delivery starts actions with; without it, workflows are started, too */
  static async start(
    starting: (rig: ActionRig) => ActionRig['starting'] = (rig) => rig.starting,
  ): Promise<ActionDeliveryRig> {
    const actions = await ActionRig.start();
    const deliveries = await DeliveryRig.start({ db: actions.db, actions: starting(actions) });
    return new ActionDeliveryRig(actions, deliveries);
  }

  get db() {
    return this.actions.db;
  }

  /** Workers of both queues, and a host. */
  async work(): Promise<void> {
    await this.actions.work();
    await this.deliveries.work();
    await this.actions.host(0);
  }

  async subscribe(
    name: string,
    target: Partial<ActionTarget> = {},
    lane: Lane = 'durable',
  ): Promise<CatalogFixture> {
    const fixture = await this.deliveries.catalog({ subscription: name, lane });
    await this.db.rows(
      `insert into waybill.targets (tenant_id, target_id, kind, config) values ($1, $2, 'action', $3)`,
      [fixture.tenant, `${name}-action`, JSON.stringify({ ...TICKET, ...target })],
    );
    await this.db.rows(
      `update waybill.subscriptions set target_id = $3 where tenant_id = $1 and subscription_id = $2`,
      [fixture.tenant, name, `${name}-action`],
    );
    return fixture;
  }

  /** The action that this series of the delivery starts, if it starts one. */
  actionOf({ tenantId, deliveryId }: DeliveryRef, series = 1): ActionRef {
    return { tenantId, actionId: deliveryActionId(deliveryId, series) };
  }

  /** Ids of all actions that the delivery has started, oldest first. */
  async actionsOf({ deliveryId }: DeliveryRef): Promise<string[]> {
    const rows = await this.db.rows<{ action_id: string }>(
      'select action_id from waybill.actions where delivery_id = $1 order by created_at',
      [deliveryId],
    );
    return rows.map((row) => row.action_id);
  }

  attemptsOf({ deliveryId }: DeliveryRef): Promise<AttemptRow[]> {
    return this.db.rows<AttemptRow>(
      `select attempt_no, outcome, reason, detail, status, duration_ms, answer_sha256, answer_head
        from waybill.delivery_attempts where delivery_id = $1 order by attempt_no`,
      [deliveryId],
    );
  }

  async stop(): Promise<void> {
    await this.deliveries.stop();
    await this.actions.stop();
  }
}
