/** The whole published catalog as a fleet file. */
import {
  readCatalogHead,
  readConnectors,
  readInstances,
  readSubscriptions,
  readTargets,
  readVersions,
} from '../../db/catalog';
import {
  bindingKeys,
  capabilityKeys,
  evidenceKeys,
  quotaPolicyKeys,
  tenantKeys,
  versionKeys,
} from '../../db/catalog-keys';
import type { Database, Run } from '../../db/database';
import { eventSinkKeys, readEventSinks } from '../../db/event-sinks';
import { readEvidence } from '../../db/evidence';
import {
  readBindings,
  readCapabilities,
  readQuotaPolicies,
  readReplicas,
} from '../../db/routing-catalog';
import type { WrittenDocument } from '../../schemas/fleet/written-documents';
import {
  writtenBinding,
  writtenCapability,
  writtenConnector,
  writtenEvidence,
  writtenEventSink,
  writtenInstance,
  writtenQuotaPolicy,
  writtenReplica,
  writtenSettings,
  writtenSubscription,
  writtenTarget,
} from '../../schemas/fleet/written-documents';
import { fleetText } from '../../schemas/fleet/yaml-texts';
import type { ShippedSchemes } from '../../schemas/shipped-schemes';
import { bindingKey, keyOf, versionKey } from './catalog-view';

/** Rows that one statement reads. */
const CHUNK = 500;

/**
 * Everything that is published, as of one instant, in a stable order: by kind, as one refers to the
 * other, then by key. Publishing that file changes nothing and keeps the revision, and a catalog that
 * is empty becomes the same by it. References to secrets stay references; what hosts and Waybill itself
 * say (leases, loads, deliveries) is not the catalog's.
 * @param control a pool of the role waybill_control
 * @param tenant only what belongs to it: its own connectors, instances, bindings, replicas, targets,
 * subscriptions and event sinks; null: everything
 * @param schemes those that a `webhookScheme` is written by name for
 * @returns the text of a fleet file
 */
export async function exportFleet(
  control: Database,
  tenant: string | null,
  schemes: ShippedSchemes,
): Promise<string> {
  const { revision, documents } = await control.snapshot((run) => catalog(run, tenant, schemes));
  const whose = tenant === null ? '' : ` of tenant ${tenant}`;
  // Writing many documents takes seconds: after the transaction, which may not stand idle for long.
  return `# The catalog${whose} at revision ${revision}.\n---\n${fleetText(documents)}`;
}

async function catalog(
  run: Run,
  tenant: string | null,
  schemes: ShippedSchemes,
): Promise<{ readonly revision: number; readonly documents: readonly WrittenDocument[] }> {
  const { revision, settings } = await readCatalogHead(run);
  const platform = tenant === null ? await platformDocuments(run) : null;
  const documents = [
    ...(platform === null ? [] : [writtenSettings(settings), ...platform.capabilities]),
    ...(await connectorDocuments(run, tenant, schemes)),
    ...(await evidenceDocuments(run, tenant)),
    ...(platform?.quotaPolicies ?? []),
    ...(await actionDocuments(run, tenant)),
    ...(await deliveryDocuments(run, tenant)),
  ];
  return { revision, documents };
}

/** What belongs to no tenant, but for its connectors. */
async function platformDocuments(
  run: Run,
): Promise<Record<'capabilities' | 'quotaPolicies', WrittenDocument[]>> {
  const capabilities = await inChunks(await capabilityKeys(run), (ids) =>
    readCapabilities(run, ids),
  );
  const quotaPolicies = await inChunks(await quotaPolicyKeys(run), (ids) =>
    readQuotaPolicies(run, ids),
  );
  return {
    capabilities: sorted(capabilities, idOf).map(writtenCapability),
    quotaPolicies: sorted(quotaPolicies, idOf).map(writtenQuotaPolicy),
  };
}

async function connectorDocuments(
  run: Run,
  tenant: string | null,
  schemes: ShippedSchemes,
): Promise<WrittenDocument[]> {
  const keys = await versionKeys(run, tenant);
  const ids = [...new Set(keys.map(({ connector }) => connector))];
  const connectors = await inChunks(ids, (some) => readConnectors(run, some));
  const known = new Map(connectors.map((row) => [row.id, row]));
  const versions = await inChunks(keys, (some) => readVersions(run, some));
  return sorted(versions, versionKey).flatMap((row) => {
    const connector = known.get(row.connector);
    return connector === undefined ? [] : [writtenConnector(connector, row, schemes)];
  });
}

async function evidenceDocuments(run: Run, tenant: string | null): Promise<WrittenDocument[]> {
  const statements = await inChunks(await evidenceKeys(run, tenant), (ids) =>
    readEvidence(run, ids),
  );
  return sorted(statements, idOf).map(writtenEvidence);
}

async function actionDocuments(run: Run, tenant: string | null): Promise<WrittenDocument[]> {
  const instances = await inChunks(await tenantKeys(run, 'instances', tenant), (keys) =>
    readInstances(run, keys),
  );
  const bindings = await inChunks(await bindingKeys(run, tenant), (keys) =>
    readBindings(run, keys, []),
  );
  const replicas = await inChunks(await tenantKeys(run, 'replicas', tenant), (keys) =>
    readReplicas(run, keys.map(idOf)),
  );
  return [
    ...sorted(instances, keyOf).map(writtenInstance),
    ...sorted(bindings, bindingKey).map(writtenBinding),
    ...sorted(replicas, keyOf).map(writtenReplica),
  ];
}

async function deliveryDocuments(run: Run, tenant: string | null): Promise<WrittenDocument[]> {
  const targets = await inChunks(await tenantKeys(run, 'targets', tenant), (keys) =>
    readTargets(run, keys),
  );
  const subscriptions = await inChunks(await tenantKeys(run, 'subscriptions', tenant), (keys) =>
    readSubscriptions(run, keys, []),
  );
  const eventSinks = await inChunks(await eventSinkKeys(run, tenant), (keys) =>
    readEventSinks(run, keys),
  );
  return [
    ...sorted(targets, keyOf).map(writtenTarget),
    ...sorted(subscriptions, keyOf).map(writtenSubscription),
    ...sorted(eventSinks, keyOf).map(writtenEventSink),
  ];
}

async function inChunks<Key, Row>(
  keys: readonly Key[],
  read: (keys: readonly Key[]) => Promise<Row[]>,
): Promise<Row[]> {
  const rows: Row[][] = [];
  for (let start = 0; start < keys.length; start += CHUNK) {
    rows.push(await read(keys.slice(start, start + CHUNK)));
  }
  return rows.flat();
}

/** By code unit of the key, the same on every machine. */
function sorted<Row>(rows: readonly Row[], key: (row: Row) => string): Row[] {
  return rows
    .map((row) => ({ row, key: key(row) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1))
    .map(({ row }) => row);
}

const idOf = ({ id }: { readonly id: string }): string => id;
