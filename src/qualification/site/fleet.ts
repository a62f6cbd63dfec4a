/** The fleet that a run publishes, and how its cases change it. */
import { LANES, type Lane } from '../../domain/lanes';
import { referenceCapabilities } from '../../hosts/reference/capabilities';
import { referenceManifestDigest } from '../../hosts/reference/host';
import { ProviderClient } from '../../hosts/provider/client';
import { signStatement } from '../../signing/evidence/sign';
import { sha256 } from '../evidence/folder';
import type { FleetChange } from '../faults';
import type { SiteKeys } from './keys';
import {
  CAPABILITIES,
  CREDENTIAL,
  HOSTS,
  INGRESSES,
  INSTANCES,
  subscriptionOf,
  VERSION,
  type ConnectorName,
  type HostName,
  type Source,
} from './topology';

/** The account whose credential is revoked and restored. */
const CHANGED_INSTANCE = 'globex-tickets';
/** The connector of the vendor. */
const SOURCE = 'github';
const REVOKED_CONNECTOR: ConnectorName = 'tickets';

/** Short enough to wait for, long enough for a loaded machine. */
export const LEASE_MS = 6_000;
const ROOM = 20;
/** What a dead loop had in hand is given to a workflow 15 s after that. */
const TARGET_TIMEOUT = '4s';
const CONNECTORS = Object.keys(CAPABILITIES) as ConnectorName[];

export interface FleetPlan {
  readonly keys: SiteKeys;
  /** Of what hosts run: this build. */
  readonly artifactDigest: string;
  readonly endpoint: (host: HostName) => string;
  readonly targetUrl: string;
}

type Document = Readonly<Record<string, unknown>>;

/** All of it, as `waybill apply` takes it. */
export async function fleetText(plan: FleetPlan): Promise<string> {
  const { kty, crv, x } = plan.keys.release.key.publicJwk;
  const admissions = CONNECTORS.map((connector) => statement(plan, connector, 'signature'));
  return asText([
    {
      kind: 'Settings',
      replicaLease: `${LEASE_MS}ms`,
      circuitOpen: '1s',
      targetAddresses: { allow: ['127.0.0.0/8'] },
      requiredEvidence: ['signature'],
      trustedSigners: { release: { kty, crv, x } },
    },
    ...capabilityDocuments(),
    ...CONNECTORS.map((connector) => connectorDocument(plan, connector, 'active')),
    ...(await Promise.all(admissions)),
    ...(await sourceDocuments(plan)),
    { kind: 'QuotaPolicy', id: 'counted', limits: { instance: ROOM, tenant: ROOM } },
    ...INSTANCES.flatMap(({ instance, tenant, connector }) => [
      instanceDocument(instance, 'active'),
      ...CAPABILITIES[connector].map((capability) => ({
        kind: 'Binding',
        ...{ tenant, capability, instance, credentialRevision: CREDENTIAL, quotaPolicy: 'counted' },
      })),
    ]),
    ...HOSTS.map(({ name, replica, tenant, instance }) => ({
      kind: 'Replica',
      ...{ tenant, id: replica, instance, capacity: ROOM, transport: 'http-loopback' },
      endpoint: plan.endpoint(name),
      peer: { did: plan.keys.hosts[name].did },
      trustDomain: 'qualification.test',
      ...{ region: 'here', zone: 'a' },
    })),
  ]);
}

/** What a case publishes: only what changes. */
export async function changeText(plan: FleetPlan, change: FleetChange): Promise<string> {
  switch (change) {
    case 'revoke-credential':
      return asText([instanceDocument(CHANGED_INSTANCE, 'revoked')]);
    case 'restore-credential':
      return asText([instanceDocument(CHANGED_INSTANCE, 'active')]);
    case 'revoke-package':
      return asText([await statement(plan, REVOKED_CONNECTOR, 'revocation')]);
    case 'durable-lane':
      return asText([subscriptionDocument('switched', 'durable')]);
    case 'express-lane':
      return asText([subscriptionDocument('switched', 'express')]);
  }
}

function manifestDigest(connector: ConnectorName): string {
  const host = HOSTS.find((one) => one.connector === connector);
  if (host === undefined) throw new Error(`no host serves ${connector}`);
  return referenceManifestDigest({
    identity: {
      ...{ tenantId: host.tenant, connectorId: connector, instanceId: host.instance },
      ...{ version: VERSION, replicaId: host.replica, credentialRevisions: [CREDENTIAL] },
    },
  });
}

function capabilityDocuments(): Document[] {
  const provider = new ProviderClient({ url: 'http://127.0.0.1', token: '', timeoutMs: 0 });
  const offered = referenceCapabilities({ provider, settlesAfterMs: 0, timeoutMs: 30_000 });
  return CONNECTORS.flatMap((connector) => CAPABILITIES[connector]).map((id) => {
    const contract = offered[id]?.contract;
    if (contract === undefined) throw new Error(`the reference host does not offer ${id}`);
    const { interfaceName, timeoutMs, ...rest } = contract;
    return { kind: 'Capability', id, interface: interfaceName, timeout: `${timeoutMs}ms`, ...rest };
  });
}

function connectorDocument(plan: FleetPlan, connector: ConnectorName, status: string): Document {
  return {
    kind: 'Connector',
    ...{ id: connector, name: connector, provider: 'controlled', version: VERSION, status },
    artifactDigest: plan.artifactDigest,
    manifestDigest: manifestDigest(connector),
    capabilities: CAPABILITIES[connector],
  };
}

function instanceDocument(id: string, credential: 'active' | 'revoked'): Document {
  const found = INSTANCES.find(({ instance }) => instance === id);
  if (found === undefined) throw new Error(`there is no instance ${id}`);
  const { tenant, connector } = found;
  return {
    kind: 'Instance',
    ...{ tenant, id, connector, version: VERSION, grants: ['tool'] },
    credentials: [{ revision: CREDENTIAL, status: credential }],
  };
}

async function statement(
  plan: FleetPlan,
  connector: ConnectorName | typeof SOURCE,
  kind: 'signature' | 'revocation',
): Promise<Document> {
  const jws = await signStatement(
    {
      ...{ v: 1, connector, version: VERSION, kind },
      artifactDigest: plan.artifactDigest,
      manifestDigest: connector === SOURCE ? null : manifestDigest(connector),
      contentDigest: sha256(`${kind} of ${connector} ${VERSION}`),
      verdict: kind === 'revocation' ? 'fail' : 'pass',
      issuedAt: new Date().toISOString(),
    },
    plan.keys.release.key,
  );
  return { kind: 'Evidence', id: `${connector}-${VERSION}-${kind}`, statement: jws };
}

/** Of the vendor's webhooks. */
const SOURCE_OF = { tenant: 'acme', instance: `acme-${SOURCE}` };

/** Sources of webhooks in either lane, and where they go; what fails there fails soon. */
async function sourceDocuments(plan: FleetPlan): Promise<Document[]> {
  return [
    {
      ...{ kind: 'Connector', id: SOURCE, name: SOURCE, provider: SOURCE, version: VERSION },
      ...{ status: 'active', webhookScheme: 'github', artifactDigest: plan.artifactDigest },
      retry: { attempts: 3, backoff: ['500ms', '1s'], jitter: 0 },
    },
    await statement(plan, SOURCE, 'signature'),
    {
      ...{ kind: 'Instance', tenant: SOURCE_OF.tenant, id: SOURCE_OF.instance, connector: SOURCE },
      ...{ version: VERSION, grants: ['source'] },
    },
    {
      ...{ kind: 'Target', tenant: SOURCE_OF.tenant, id: 'target', breaker: { failures: 0 } },
      http: { url: `${plan.targetUrl}/hook`, timeout: TARGET_TIMEOUT, secretRefs: ['file:target'] },
    },
    ...LANES.map((lane) => subscriptionDocument(lane, lane)),
    subscriptionDocument('switched', 'durable'),
  ];
}

function subscriptionDocument(source: Source, lane: Lane): Document {
  return {
    ...{ kind: 'Subscription', ...SOURCE_OF, id: subscriptionOf(source), lane },
    ...{ target: 'target', eventTypes: ['push'] },
    ingress: { ref: INGRESSES[source], secrets: [{ id: 'current', ref: 'file:vendor' }] },
  };
}

/** JSON is YAML. */
function asText(documents: readonly Document[]): string {
  return documents.map((document) => JSON.stringify(document)).join('\n---\n');
}
