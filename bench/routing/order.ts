/**
 * The order of choice, held against the answers: one reservation at a time, and the replica that should
 * have been chosen by a query that sorts and skips nothing (docs/architecture, "Routes").
 */
import type { TopologyPreference } from '../../src/domain/routes';
import { startActions } from './actions';
import { portHands, type Ask } from './hands';
import type { Site } from './shapes';

export const PREFERENCE: TopologyPreference = {
  ...{ region: 'here', zone: 'a', crossRegion: true, capacityClass: null },
};

/** Four tiers; of ten replicas seven are in the preferred one. */
export const PLACES = {
  region: `case when r % 10 < 8 then 'here' else 'there' end`,
  zone: `case when r % 10 < 7 or r % 10 = 8 then 'a' else 'b' end`,
};

/** Reserves so many, one after the other; says how many did not get the replica that is first in order. */
export async function checkOrder(site: Site, name: string, count: number): Promise<number> {
  const { reserve } = portHands(site.as('waybill_data', 1), PREFERENCE);
  let wrong = 0;
  for (let nth = 0; nth < count; nth += 1) {
    const ask: Ask = { tenantId: 't0', actionId: `${name}-${nth}`, capabilityId: 'c0', nth };
    await startActions(site, [ask]);
    const first = await firstInOrder(site, ask.actionId);
    const held = await reserve(ask);
    const chosen = typeof held === 'string' ? null : held.replicaId;
    if (chosen !== first) wrong += 1;
  }
  return wrong;
}

/** Until every replica is full, and once more, which must be refused. */
export async function fillInOrder(site: Site, name: string): Promise<number> {
  const { replicas, capacity } = site.shape;
  // The first one of them was used and freed before.
  return await checkOrder(site, name, replicas * capacity + 1);
}

/** Null: all are full. A tier of more than 8 with room is sampled, from where the action's hash says. */
async function firstInOrder({ database }: Site, actionId: string): Promise<string | null> {
  const [row] = await database.rows(
    `with eligible as materialized (
        select r.*, hashtextextended($1, 0) as start from waybill.replicas r
          where r.tenant_id = 't0' and r.status = 'ready' and r.lease_ends_at > clock_timestamp()
            and r.active_assignments < r.capacity and r.circuit_open_until is null),
      sampled as (
        select *, row_number() over (partition by region, zone order by slot < start, slot) as nth
          from eligible)
      select replica_id from sampled where nth <= 8
        order by region <> 'here', zone <> 'a', active_assignments,
          hashtextextended(replica_id, start), replica_id
        limit 1`,
    [actionId],
  );
  return row === undefined ? null : String(row['replica_id']);
}
