/** How large a benchmark of routing wants its catalog and fleet, and what it does with them. */
import type { Database, DatabaseRole } from '../../src/db/database';
import type { BenchDatabase } from '../databases';

/** Every tenant has one account with this id, bound to every capability. */
export const INSTANCE = 'main';
export const CONNECTOR = 'nothing';

export interface Shape {
  readonly tenants: number;
  readonly capabilities: number;
  /** Of each tenant. */
  readonly replicas: number;
  /** Of each replica. */
  readonly capacity: number;
  /** Actions that are over and still there, evenly of all tenants. */
  readonly retained: number;
  /** Quotas that are counted, with their limits; null: none is. */
  readonly limits: Readonly<Record<string, number>> | null;
  /** SQL for region and zone of a tenant's replica `r`, from 1; the same place for all where absent. */
  readonly places?: { readonly region: string; readonly zone: string };
}

/** Of quotas and replicas that are counted and never full: the path is measured, not the waiting. */
export const ROOM = 100_000;

/** 10,000 replicas, 100,000 bindings. */
export const MANY_TENANTS: Shape = {
  ...{ tenants: 1_000, capabilities: 100, replicas: 10, capacity: ROOM, retained: 50_000 },
  limits: { binding: ROOM, instance: ROOM, tenant: ROOM },
};

export interface Site {
  readonly shape: Shape;
  readonly database: BenchDatabase;
  /** A pool of the product's own, until the site is closed. */
  readonly as: (role: DatabaseRole, connections?: number) => Database;
  /** Publishes a change of `fleetOf`; a publication takes what it does not name as it is. */
  readonly publish: (documents: readonly object[]) => Promise<void>;
  /** Ends all pools: what a backend has counted is told by then. */
  readonly disconnect: () => Promise<void>;
}
