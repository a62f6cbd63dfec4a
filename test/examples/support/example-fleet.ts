/** A fleet file for an example connector: what its manifest says, one account, one replica. */
import type { HostIdentity } from '../../../src/hosts/kit/checks';
import type { HostManifest } from '../../../src/domain/host-protocol';

export function exampleFleet(
  { manifest, digest }: { readonly manifest: HostManifest; readonly digest: string },
  identity: Omit<HostIdentity, 'connectorId'>,
  peer: { readonly did: string; readonly port: number },
): string {
  const { connectorId, version, capabilities } = manifest;
  const { tenantId: tenant, instanceId, replicaId } = identity;
  const [credentialRevision = ''] = identity.credentialRevisions;
  return [
    ...capabilities.map(({ capabilityId, interfaceName, timeoutMs, ...contract }) => ({
      ...{ kind: 'Capability', id: capabilityId, interface: interfaceName },
      ...contract,
      timeout: `${String(timeoutMs)}ms`,
    })),
    {
      ...{ kind: 'Connector', id: connectorId, name: connectorId, provider: connectorId },
      ...{ version, status: 'active', manifestDigest: digest },
      capabilities: capabilities.map(({ capabilityId }) => capabilityId),
    },
    {
      ...{ kind: 'Instance', tenant, id: instanceId, connector: connectorId, version },
      ...{
        grants: ['tool'],
        credentials: [{ revision: credentialRevision, status: 'active' }],
      },
    },
    ...capabilities.map(({ capabilityId }) => ({
      ...{ kind: 'Binding', tenant, capability: capabilityId, instance: instanceId },
      credentialRevision,
    })),
    {
      ...{ kind: 'Replica', tenant, id: replicaId, instance: instanceId },
      endpoint: `http://127.0.0.1:${String(peer.port)}`,
      ...{ transport: 'http-loopback', trustDomain: 'acme.test', peer: { did: peer.did } },
      ...{ region: 'eu', zone: 'a', capacity: 10 },
    },
  ]
    .map((document) => JSON.stringify(document))
    .join('\n---\n');
}
