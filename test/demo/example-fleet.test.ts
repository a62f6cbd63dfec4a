/** examples/fleet.yaml and the code that it describes say the same. Doubled: nothing. */
import { readFileSync } from 'node:fs';
import { actionRouteOf, routeOf } from '../../src/demo/routes';
import { referenceCapabilities } from '../../src/hosts/reference/capabilities';
import { ProviderClient } from '../../src/hosts/provider/client';
import { referenceManifestDigest } from '../../src/hosts/reference/host';
import { PORT_SETTINGS } from '../../src/workers/up/settings';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import { EXAMPLE_FLEET } from '../../src/workers/up/fleet';

const fleet = readFleet(readFileSync(EXAMPLE_FLEET, 'utf8'), loadShippedSchemes());
const provider = new ProviderClient({ url: 'http://127.0.0.1', token: '', timeoutMs: 1 });
const contracts = Object.entries(
  referenceCapabilities({ provider, settlesAfterMs: 1, timeoutMs: 30_000 }),
).map(([id, { contract }]) => ({ id, contract }));

test('the example has no mistake', () => {
  expect(fleet.mistakes).toEqual([]);
});

test('its capabilities are those of the reference connector, contract for contract', () => {
  const wanted = contracts.map(({ id, contract }) => ({
    kind: 'Capability',
    id,
    interface: contract.interfaceName,
    sideEffect: contract.sideEffect,
    recovery: contract.recovery,
    requestSchema: contract.requestSchema,
    resultSchema: contract.resultSchema,
    timeout: contract.timeoutMs,
  }));
  expect(fleet.capabilities.map(({ thing }) => thing)).toEqual(wanted);
});

test('its connector offers all of them, with the manifest that the hosts show', () => {
  const connector = fleet.connectors.find(({ thing }) => thing.id === 'tickets')?.thing;
  const [replica] = fleet.replicas;
  if (connector === undefined || replica === undefined) throw new Error('they are missing');
  const { tenant, id, instance } = replica.thing;
  const identity = {
    ...{ tenantId: tenant, instanceId: instance, replicaId: id, credentialRevisions: ['r1'] },
    ...{ connectorId: connector.id, version: connector.version },
  };
  expect(connector.manifestDigest).toBe(referenceManifestDigest({ identity }));
  expect(connector.capabilities).toEqual(contracts.map((it) => it.id).sort());
  const bound = fleet.bindings.map(({ thing }) => thing.capability);
  expect(bound.sort()).toEqual(connector.capabilities);
});

test('its replicas are on the ports that the demo hosts have', () => {
  const { firstHost, secondHost } = PORT_SETTINGS;
  expect(fleet.replicas.map(({ thing }) => thing.endpoint)).toEqual([
    `http://127.0.0.1:${firstHost.port}`,
    `http://127.0.0.1:${secondHost.port}`,
  ]);
});

test('issues go to a program and become an action; what nobody takes has no route', () => {
  expect(routeOf(fleet, 'issues')).toMatchObject({ ingressRef: 'github-acme-pushes-7f3a9c' });
  expect(actionRouteOf(fleet, 'issues')).toEqual({
    ingressRef: 'github-acme-issues-b6e04d',
    capabilityId: 'tickets.create',
  });
  expect(() => actionRouteOf(fleet, 'push')).toThrow('no subscription for push');
  expect(() => routeOf(fleet, 'star')).toThrow('no subscription for star');
});
