/** The fleet of the reference connector: every capability bound, two hosts. */
import { referenceCapabilities } from '../../src/hosts/reference/capabilities';
import { referenceManifestDigest } from '../../src/hosts/reference/host';
import { ProviderClient } from '../../src/hosts/provider/client';

export const TENANT = 'acme';
export const HOST_IDENTITY = {
  tenantId: TENANT,
  connectorId: 'tickets',
  instanceId: 'desk',
  version: '1.0.0',
  replicaId: 'h1',
  credentialRevisions: ['r1'],
} as const;
const TIMEOUT_MS = 5_000;

export function actionFleet(
  hosts: readonly { readonly replicaId: string; readonly did: string; readonly port: number }[],
): string {
  const provider = new ProviderClient({ url: 'http://127.0.0.1', token: '', timeoutMs: 1 });
  const capabilities = Object.entries(
    referenceCapabilities({ provider, settlesAfterMs: 1, timeoutMs: TIMEOUT_MS }),
  );
  const digest = referenceManifestDigest({ identity: HOST_IDENTITY, timeoutMs: TIMEOUT_MS });
  const ids = capabilities.map(([id]) => id);
  return [
    ...capabilities.map(([id, { contract }]) => ({
      kind: 'Capability',
      id,
      interface: contract.interfaceName,
      sideEffect: contract.sideEffect,
      recovery: contract.recovery,
      requestSchema: contract.requestSchema,
      resultSchema: contract.resultSchema,
      timeout: `${TIMEOUT_MS}ms`,
    })),
    {
      kind: 'Connector',
      id: 'tickets',
      name: 'Tickets',
      provider: 'tickets',
      version: '1.0.0',
      status: 'active',
      manifestDigest: digest,
      capabilities: ids,
    },
    {
      kind: 'Instance',
      tenant: TENANT,
      id: 'desk',
      connector: 'tickets',
      version: '1.0.0',
      grants: ['tool'],
      credentials: [{ revision: 'r1', status: 'active' }],
    },
    { kind: 'QuotaPolicy', id: 'all', limits: { tenant: 50 } },
    ...ids.map((capability) => ({
      kind: 'Binding',
      tenant: TENANT,
      capability,
      instance: 'desk',
      credentialRevision: 'r1',
      quotaPolicy: 'all',
    })),
    ...hosts.map(({ replicaId, did, port }) => ({
      kind: 'Replica',
      tenant: TENANT,
      id: replicaId,
      instance: 'desk',
      endpoint: `http://127.0.0.1:${port}`,
      transport: 'http-loopback',
      trustDomain: 'acme.test',
      peer: { did },
      region: 'eu',
      zone: 'a',
      capacity: 10,
    })),
  ]
    .map((document) => JSON.stringify(document))
    .join('\n---\n');
}
