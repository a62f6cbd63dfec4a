/** Replicas as the registry knows them. */
import { registryReader } from '../../src/db/replicas';
import type { ReplicaIdentity, ReplicaStatus } from '../../src/domain/registry-ports';
import type { TestDatabase } from './test-database';
import { until } from './until';

export async function replicaOf(db: TestDatabase, id: string): Promise<ReplicaIdentity> {
  const row = await registryReader(db.as('waybill_lifecycle')).replica(id);
  if (row === null) throw new Error(`there is no replica ${id}`);
  return row;
}

/** The replica once it is in this status. */
export async function replicaReaches(
  db: TestDatabase,
  id: string,
  status: ReplicaStatus,
): Promise<ReplicaIdentity> {
  return await until(`${id} is ${status}`, async () => {
    const row = await replicaOf(db, id);
    return row.status === status ? row : null;
  });
}
