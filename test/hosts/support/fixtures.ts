/** Keys, identities and routes of hosts for tests. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tenantId } from '../../../src/domain/ids';
import type { RouteAssignment } from '../../../src/domain/routes';
import { createHostClient, type HostCall, type HostClient } from '../../../src/hosts/client';
import type { HostIdentity } from '../../../src/hosts/kit/checks';
import type { Host } from '../../../src/hosts/kit/host';
import type { TokenTrust } from '../../../src/schemas/host-messages';
import {
  generateKeyText,
  importSigningKey,
  publicKeySet,
  type SigningKey,
} from '../../../src/signing/keys';

export const ISSUER = 'urn:waybill:test';
export const INCARNATION = 3;

export const IDENTITY: HostIdentity = {
  tenantId: 'acme',
  connectorId: 'tickets',
  instanceId: 'acme-tickets',
  version: '1.0.0',
  replicaId: 'acme-tickets-1',
  credentialRevisions: ['7'],
};

export async function newKey(): Promise<SigningKey> {
  return await importSigningKey(await generateKeyText());
}

export function trustIn(...keys: readonly SigningKey[]): TokenTrust {
  const set = publicKeySet(keys).keys.map(({ kid = '', x = '' }) => {
    return { kty: 'OKP' as const, crv: 'Ed25519' as const, kid, x };
  });
  return { issuer: ISSUER, keys: { keys: set } };
}

export function clientOf(key: SigningKey, nowMs: () => number = Date.now): HostClient {
  return createHostClient({
    issuer: ISSUER,
    key,
    nowMs,
    newJti: randomUUID,
    connectionsPerHost: 4,
  });
}

export type Peer = Pick<Host, 'url' | 'did' | 'manifestDigest'>;

/** A call about a new action of this host, unless told otherwise. */
export function callTo(
  host: Peer,
  more: Partial<Omit<HostCall, 'route'>> & { readonly route?: Partial<RouteAssignment> } = {},
): HostCall {
  const { route, ...rest } = more;
  return {
    route: {
      tenantId: tenantId(IDENTITY.tenantId),
      actionId: `action-${randomUUID()}`,
      capabilityId: 'tickets.create',
      connectorId: IDENTITY.connectorId,
      instanceId: IDENTITY.instanceId,
      version: IDENTITY.version,
      manifestDigest: host.manifestDigest,
      replicaId: IDENTITY.replicaId,
      endpoint: host.url,
      peerPrincipalId: 'host/acme-tickets-1',
      peerPrincipalKind: 'connector-host',
      peerDid: host.did,
      trustDomain: 'acme.example',
      transportProfile: 'http-loopback',
      topology: { region: 'eu', zone: 'eu-1', capacityClass: 'standard' },
      catalogRevision: 1,
      bindingPolicyRevision: 1,
      credentialRevision: '7',
      quotaPolicyId: null,
      assignedAt: '2026-01-01T00:00:00Z',
      ...route,
    },
    fence: 10,
    incarnation: INCARNATION,
    storeEpoch: null,
    sentAgoMs: null,
    beginAnew: false,
    approval: null,
    expiresAtMs: Date.now() + 30_000,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...rest,
  };
}

export function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value), 'utf8');
}

/** A folder of its own that goes away with the test file. */
export class Folder {
  readonly path = mkdtempSync(path.join(tmpdir(), 'waybill-host-'));

  file(name: string): string {
    return path.join(this.path, name);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
