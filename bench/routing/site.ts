/** A catalog with its fleet, as large as a benchmark of routing wants it, in a database of its own. */
import path from 'node:path';
import { Database, type DatabaseRole } from '../../src/db/database';
import { migrate } from '../../src/db/migrations';
import { registryAdministrator } from '../../src/db/replicas';
import { readFleet } from '../../src/schemas/fleet';
import { publishFleet } from '../../src/services/publications';
import { Closers } from '../../src/workers/closers';
import { createDatabase } from '../databases';
import { POOL_SIZE } from '../deployment';
import type { Environment } from '../environment';
import { copyRows } from './copies';
import { retain } from './retained';
import { CONNECTOR, INSTANCE, type Shape, type Site } from './shapes';

/** Seen from the compiled file. */
const MIGRATIONS = path.join(__dirname, '..', '..', '..', 'migrations');

export interface SiteOptions {
  readonly environment: Environment;
  /** Ends its pools and drops it. */
  readonly closers: Closers;
  readonly shape: Shape;
}

/**
 * Migrates, publishes a fleet of one, lets its host come up, and multiplies the rows of that. Tenants are
 * `t0`, `t1`, …, capabilities `c0`, `c1`, …, the replicas of a tenant `t0-r0`, `t0-r1`, …
 */
export async function laySite({ environment, closers, shape }: SiteOptions): Promise<Site> {
  const database = await createDatabase(environment.databaseUrl);
  closers.add(() => database.drop());
  await migrate(database.url, MIGRATIONS);
  const pools = new Closers();
  const disconnect = () => pools.close();
  closers.add(disconnect);
  const as = (role: DatabaseRole, connections = POOL_SIZE): Database => {
    const pool = openPool(database.url, role, connections);
    pools.add(() => pool.close());
    return pool;
  };
  const control = as('waybill_control', 1);
  const publish = async (documents: readonly object[]): Promise<void> => {
    const text = documents.map((document) => JSON.stringify(document)).join('\n---\n');
    await publishFleet(control, readFleet(text, new Map()), 'bench');
  };
  const site: Site = { shape, database, as, publish, disconnect };
  await publish(fleetOf(shape));
  await comeUp(site);
  await multiply(site);
  await retain(site, shape.retained);
  await database.run('vacuum analyze');
  await database.run('checkpoint');
  return site;
}

function openPool(url: string, role: DatabaseRole, maxConnections: number): Database {
  return new Database({
    ...{ url, role, maxConnections },
    statementTimeoutMs: 30_000,
    applicationName: 'waybill-bench',
    preparedStatements: 'on',
    // One that breaks fails the next statement.
    onIdleError: () => undefined,
  });
}

/** One of each: what all others are copies of. */
function fleetOf({ capacity, limits }: Shape): readonly object[] {
  return [
    {
      ...{ kind: 'Capability', id: 'c0', interface: 'bench', timeout: '10m' },
      ...{ sideEffect: 'shared-write', recovery: 'provider_key' },
      ...{ requestSchema: { type: 'object' }, resultSchema: { type: 'object' } },
    },
    {
      ...{ kind: 'Connector', id: CONNECTOR, name: 'Nothing', provider: 'bench' },
      ...{ version: '1.0.0', status: 'active' },
      ...{ manifestDigest: '5f'.repeat(32), capabilities: ['c0'] },
    },
    ...(limits === null ? [] : [{ kind: 'QuotaPolicy', id: 'counted', limits }]),
    {
      ...{ kind: 'Instance', tenant: 't0', id: INSTANCE, connector: CONNECTOR },
      ...{ version: '1.0.0', grants: ['tool'] },
      credentials: [{ revision: 'r1', status: 'active' }],
    },
    {
      ...{ kind: 'Binding', tenant: 't0', capability: 'c0', instance: INSTANCE },
      credentialRevision: 'r1',
      ...(limits === null ? {} : { quotaPolicy: 'counted' }),
    },
    {
      ...{ kind: 'Replica', tenant: 't0', id: 't0-r0', instance: INSTANCE, capacity },
      ...{ endpoint: 'http://127.0.0.1:9', transport: 'http-loopback', trustDomain: 'bench.test' },
      peer: { did: 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK' },
      ...{ region: 'here', zone: 'a' },
    },
  ];
}

async function comeUp({ as }: Site): Promise<void> {
  const hosts = registryAdministrator(as('waybill_lifecycle', 1));
  const call = (nth: number) => ({
    ...{ replicaId: 't0-r0', requestId: `call-${nth}`, previousSequence: nth },
  });
  await hosts.register({ ...call(0), storeEpoch: 'epoch-1' });
  await hosts.heartbeat({ ...call(1), healthy: true });
}

async function multiply({ database, shape }: Site): Promise<void> {
  const { tenants, capabilities, replicas, places } = shape;
  const otherTenants = {
    of: `generate_series(1, ${tenants - 1}) t`,
    set: { tenant_id: `'t' || t` },
  };
  const otherCapabilities = {
    of: `generate_series(1, ${capabilities - 1}) c`,
    set: { capability_id: `'c' || c` },
  };
  await copyRows(database.url, [
    { table: 'capabilities', ...otherCapabilities },
    { table: 'version_capabilities', ...otherCapabilities },
    { table: 'instances', ...otherTenants },
    { table: 'credential_revisions', ...otherTenants },
    {
      table: 'bindings',
      of: all({ t: tenants, c: capabilities }),
      set: { ...otherTenants.set, ...otherCapabilities.set },
    },
    {
      table: 'replicas',
      of: all({ t: tenants, r: replicas }),
      set: { ...otherTenants.set, replica_id: `'t' || t || '-r' || r`, ...places },
    },
  ]);
  // No host is there to renew them.
  await database.run(
    `update waybill.replicas set lease_ends_at = clock_timestamp() + interval '1 day'`,
  );
}

/** Every combination but the one that is there already. */
function all(counts: Readonly<Record<string, number>>): string {
  const names = Object.keys(counts);
  const series = names.map((name) => `generate_series(0, ${(counts[name] ?? 0) - 1}) ${name}`);
  return `(select ${names.join(', ')} from ${series.join(', ')}
    where (${names.join(', ')}) <> (${names.map(() => 0).join(', ')})) n`;
}
