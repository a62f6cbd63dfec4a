/**
 * From a fleet file to a reserved route: publication, a host that comes up, a reservation; a real
 * Postgres, each part under the role that has it in production.
 */
import { createHash } from 'node:crypto';
import { actionLedger } from '../../../src/db/actions';
import { registryAdministrator } from '../../../src/db/replicas';
import { actionTargetResolver } from '../../../src/db/routes';
import { tenantId } from '../../../src/domain/ids';
import type { ReserveAnswer } from '../../../src/domain/routes';
import {
  account,
  binding,
  capability,
  fleetOf,
  quotaPolicy,
  replica,
  tracker,
} from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply } = publishing();
const REQUEST = Buffer.from('{"title":"It fails"}');
const ANYWHERE = { region: null, zone: null, crossRegion: true, capacityClass: null };

async function comesUp(replicaId: string): Promise<void> {
  const hosts = registryAdministrator(db().as('waybill_lifecycle'));
  const call = (nth: number) => ({ replicaId, requestId: `call-${nth}`, previousSequence: nth });
  await hosts.register({ ...call(0), storeEpoch: 'epoch-1' });
  const answer = await hosts.heartbeat({ ...call(1), healthy: true });
  expect(answer).toMatchObject({ kind: 'accepted', status: 'ready' });
}

async function reserve(actionId: string): Promise<ReserveAnswer> {
  const data = db().as('waybill_data');
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

test('what a fleet file publishes is what an action is routed by', async () => {
  const { revision } = await apply(
    fleetOf(
      ...[capability(), tracker(), quotaPolicy('limits: { binding: 1 }'), account()],
      ...[binding('quotaPolicy: small', 'policyRevision: 4'), replica(), replica('id: host-2')],
    ),
  );
  expect(await reserve('early')).toMatchObject({ kind: 'replica_unavailable', why: 'none_ready' });
  await comesUp('host-2');
  expect(await reserve('first')).toMatchObject({
    kind: 'reserved',
    route: {
      ...{ capabilityId: 'tickets.create', connectorId: 'tracker', instanceId: 'main' },
      ...{ version: '1.0.0', manifestDigest: '5f'.repeat(32), replicaId: 'host-2' },
      ...{ endpoint: 'http://127.0.0.1:7411', transportProfile: 'http-loopback' },
      ...{ peerPrincipalId: 'host-2', peerPrincipalKind: 'service', trustDomain: 'acme.test' },
      topology: { region: 'eu', zone: 'a', capacityClass: 'standard' },
      ...{ catalogRevision: revision, bindingPolicyRevision: 4, credentialRevision: 'r1' },
      quotaPolicyId: 'small',
    },
  });
  expect(await reserve('second')).toMatchObject({ kind: 'capacity_exceeded', scope: 'binding' });
});

test('a revoked credential closes the binding, and one publication opens it again', async () => {
  await apply(fleetOf(capability(), tracker(), account(), binding(), replica()));
  await comesUp('host-1');
  await apply(account('credentials: [{ revision: r1, status: revoked }]'));
  expect(await reserve('first')).toMatchObject({
    ...{ kind: 'binding_unavailable', why: 'credential_revoked' },
  });
  const renewed = account('credentials: [{ revision: r2 }]');
  await apply(fleetOf(renewed, binding('credentialRevision: r2', 'policyRevision: 2')));
  expect(await reserve('first')).toMatchObject({
    ...{ kind: 'reserved', route: { credentialRevision: 'r2', bindingPolicyRevision: 2 } },
  });
});

test('hosts that come and go are no revision of the catalog', async () => {
  const fleet = fleetOf(capability(), tracker(), account(), binding(), replica());
  const { revision } = await apply(fleet);
  await comesUp('host-1');
  await reserve('first');
  expect(await apply(fleet)).toEqual({ revision, changed: false, changes: [] });
});
