/** A host that comes up and an action that asks for a route, under the roles that they have. */
import { createHash } from 'node:crypto';
import { actionLedger } from '../../src/db/actions';
import { registryAdministrator } from '../../src/db/replicas';
import { actionTargetResolver } from '../../src/db/routes';
import { tenantId } from '../../src/domain/ids';
import type { ReserveAnswer } from '../../src/domain/routes';
import { ANYWHERE } from '../registry/fixture';
import type { TestDatabase } from './test-database';

const REQUEST = Buffer.from('{"title":"It fails"}');

/** Registers the replica and makes it ready. */
export async function comesUp(db: TestDatabase, replicaId: string): Promise<void> {
  const hosts = registryAdministrator(db.as('waybill_lifecycle'));
  const call = (nth: number) => ({ replicaId, requestId: `call-${nth}`, previousSequence: nth });
  await hosts.register({ ...call(0), storeEpoch: 'epoch-1' });
  const answer = await hosts.heartbeat({ ...call(1), healthy: true });
  expect(answer).toMatchObject({ kind: 'accepted', status: 'ready' });
}

/** Starts an action of acme's `tickets.create` and reserves its route once. */
export async function reserve(db: TestDatabase, actionId: string): Promise<ReserveAnswer> {
  const data = db.as('waybill_data');
  const action = { tenantId: tenantId('acme'), actionId, capabilityId: 'tickets.create' };
  await actionLedger(data).startAction({
    ...{ ...action, request: REQUEST, affinityKey: null, requestedBy: 'ada' },
    ...{ deadlineMs: 60_000, retryBudget: 5, attendAfterMs: 2_000 },
  });
  return actionTargetResolver(data, ANYWHERE).reserveRoute({
    ...{ ...action, owner: `action/acme/${actionId}`, attemptNo: 1, affinityKey: null },
    requestDigest: createHash('sha256').update(REQUEST).digest('hex'),
    ...{ holdMs: 20_000, aboveFence: null },
  });
}
