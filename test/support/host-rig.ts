/**
 * A lifecycle service, the controlled provider and reference hosts as real processes over a real
 * Postgres. Replicas are published by plain SQL, with a lease that is short enough to wait for.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fleetStatusProvider } from '../../src/db/replicas';
import type { ReplicaIdentity, ReplicaStatus } from '../../src/domain/registry-ports';
import { didOfKey } from '../../src/signing/did-key';
import { referenceManifestDigest } from '../../src/hosts/reference/host';
import type { PointName } from '../../src/points';
import { generateKeyText, importSigningKey, type SigningKey } from '../../src/signing/keys';
import { addAccount, addReplica } from '../registry/postgres-fixture';
import { WaybillProcesses, type WaybillProcess } from './processes';
import { replicaOf, replicaReaches } from './replicas';
import { createTestDatabase, type TestDatabase } from './test-database';

export const LEASE_MS = 1_500;
export const HEARTBEAT_MS = 200;

export const HOST = {
  ...{ tenantId: 'acme', connectorId: 'tickets', instanceId: 'acme-tickets', version: '1.0.0' },
  credentialRevisions: ['7'],
} as const;

export interface RunningHost {
  readonly process: WaybillProcess;
  readonly url: string;
  readonly did: string;
  readonly storeEpoch: string;
  readonly manifestDigest: string;
}

export class HostRig {
  readonly db: TestDatabase;
  readonly #processes = new WaybillProcesses();
  #keys = new Map<string, string>();
  lifecycle = '';
  provider = '';

  private constructor(db: TestDatabase) {
    this.db = db;
  }

  static async start(): Promise<HostRig> {
    const rig = new HostRig(await createTestDatabase());
    await rig.#publish();
    const api = rig.spawn(['api', '--serve', 'lifecycle']);
    const provider = rig.spawn([
      ...['demo-provider', '--port', '0', '--file', rig.file('provider.sqlite')],
      ...['--token', 'acme=token-of-acme'],
    ]);
    rig.lifecycle = String((await api.logged('api started'))['url']);
    rig.provider = String((await provider.line('the provider', (line) => 'url' in line))['url']);
    return rig;
  }

  file(name: string): string {
    return path.join(this.#processes.home, name);
  }

  /** A replica with a key of its own, not running yet. */
  async replica(id: string): Promise<void> {
    const keyText = await generateKeyText();
    this.#keys.set(id, keyText);
    await addReplica(this.db, {
      ...{ replica: id, tenant: HOST.tenantId, instance: HOST.instanceId, capacity: 4 },
      ...{ region: 'eu', zone: 'eu-1', capacityClass: 'standard' },
    });
    const did = didOfKey((await importSigningKey(keyText)).publicJwk.x);
    await this.db.rows('update waybill.replicas set peer_did = $2 where replica_id = $1', [
      id,
      did,
    ]);
  }

  /** Starts a replica's process; what it says is still to be waited for. */
  launch(
    id: string,
    more: { readonly args?: readonly string[]; readonly holdAt?: PointName } = {},
  ): WaybillProcess {
    const options = {
      ...{ replica: id, tenant: HOST.tenantId, connector: HOST.connectorId, credentials: '7' },
      ...{ 'connector-version': HOST.version, instance: HOST.instanceId, listen: '127.0.0.1:0' },
      ...{ key: 'env:TEST_HOST_KEY', store: this.file(`${id}.sqlite`), lifecycle: this.lifecycle },
      ...{ heartbeat: `${HEARTBEAT_MS}ms`, provider: this.provider },
      ...{ 'provider-token': 'env:TEST_PROVIDER_TOKEN', 'provider-timeout': '400ms' },
    };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    return this.spawn(['host', ...args, ...(more.args ?? [])], {
      TEST_HOST_KEY: this.#keys.get(id) ?? '',
      TEST_PROVIDER_TOKEN: 'token-of-acme',
      WAYBILL_HOLD_AT: more.holdAt ?? '',
    });
  }

  /** Starts it and waits until it is registered. */
  async host(id: string, holdAt?: PointName): Promise<RunningHost> {
    const process = this.launch(id, holdAt === undefined ? {} : { holdAt });
    const line = await process.logged('host started');
    const text = (name: string) => String(line[name]);
    return {
      ...{ process, url: text('url'), did: text('did') },
      ...{ storeEpoch: text('storeEpoch'), manifestDigest: text('manifestDigest') },
    };
  }

  spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}): WaybillProcess {
    return this.#processes.spawn(args, {
      DATABASE_URL: this.db.url,
      WAYBILL_POOL_SIZE: '2',
      WAYBILL_SHUTDOWN_GRACE: '5s',
      ...env,
    });
  }

  row(id: string): Promise<ReplicaIdentity> {
    return replicaOf(this.db, id);
  }

  reaches(id: string, status: ReplicaStatus): Promise<ReplicaIdentity> {
    return replicaReaches(this.db, id, status);
  }

  async sweep(): Promise<void> {
    await fleetStatusProvider(this.db.as('waybill_operations')).sweep(100);
  }

  /** What was accepted of a replica's newest calls, oldest first: `operation status`. */
  async accepted(id: string): Promise<string[]> {
    const rows = await this.db.rows<{ said: string }>(
      `select operation || ' ' || (answer->>'status') as said from waybill.lifecycle_requests
        where replica_id = $1 order by sequence`,
      [id],
    );
    return rows.map(({ said }) => said);
  }

  /** The key that the deployment signs route tokens with. */
  async deploymentKey(): Promise<SigningKey> {
    return await importSigningKey(readFileSync(this.file('keys/receipts.jwk'), 'utf8'));
  }

  async stop(): Promise<void> {
    await this.#processes.end();
    await this.db.drop();
  }

  async #publish(): Promise<void> {
    const identity = { ...HOST, replicaId: 'any' };
    await addAccount(this.db, {
      ...{ tenant: HOST.tenantId, instance: HOST.instanceId, connector: HOST.connectorId },
      ...{ priority: 0, spill: 'never', spread: false, quota: null },
    });
    await this.db.rows('update waybill.connector_versions set manifest_digest = $1', [
      referenceManifestDigest({ identity }),
    ]);
    await this.db.rows('update waybill.settings set replica_lease_ms = $1', [LEASE_MS]);
  }
}
