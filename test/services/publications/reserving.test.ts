/**
 * From a fleet file to a reserved route: publication, a host that comes up, a reservation; a real
 * Postgres, each part under the role that has it in production.
 */
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
import { comesUp as bringUp, reserve as reserveIn } from '../../support/reserving';

const { db, apply } = publishing();
const comesUp = (replicaId: string) => bringUp(db(), replicaId);
const reserve = (actionId: string) => reserveIn(db(), actionId);

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
