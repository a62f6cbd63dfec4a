/** A Waybill for the tests of a connector: keys, tokens and the lifecycle service, and no server. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { generateKeyText, importSigningKey, type SigningKey } from '../../signing/keys';
import { createHostClient, type HostClient } from '../client';
import type { Connector } from '../kit/process';
import { didOfKey } from '../../signing/did-key';
import { ROUTE_TOKEN_ISSUER, routeTokenTrust } from '../protocol/route-tokens';
import { LifecycleService } from './lifecycle-service';
import { TestHost } from './test-host';

const CONNECTIONS = 16;

export class TestWaybill {
  readonly #key: SigningKey;
  readonly #client: HostClient;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'waybill-test-'));
  readonly #hosts: TestHost[] = [];
  readonly #services: LifecycleService[] = [];

  private constructor(key: SigningKey) {
    this.#key = key;
    this.#client = createHostClient({
      ...{ issuer: ROUTE_TOKEN_ISSUER, key, nowMs: Date.now, newJti: randomUUID },
      connectionsPerHost: CONNECTIONS,
    });
  }

  static async start(): Promise<TestWaybill> {
    return new TestWaybill(await newKey());
  }

  /** A host of this connector, registered, over real sockets and a store on the disk. */
  async host(connector: Connector): Promise<TestHost> {
    const { connectorId, version } = connector;
    const key = await newKey();
    const lifecycle = new LifecycleService(didOfKey(key.publicJwk.x), routeTokenTrust([this.#key]));
    await lifecycle.start();
    this.#services.push(lifecycle);
    const replicaId = `${connectorId}-${String(this.#hosts.length + 1)}`;
    const identity = {
      ...{ tenantId: 'acme', connectorId, instanceId: `${connectorId}-acme`, version, replicaId },
      credentialRevisions: ['r1'],
    };
    const folder = mkdtempSync(path.join(this.#folder, 'host-'));
    const parts = { connector, identity, key, lifecycle, client: this.#client, folder };
    const host = await TestHost.start(parts);
    this.#hosts.push(host);
    return host;
  }

  /** Kills what still runs, and removes what was on the disk. */
  async stop(): Promise<void> {
    for (const host of this.#hosts) await host.kill();
    for (const service of this.#services) await service.stop();
    await this.#client.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function newKey(): Promise<SigningKey> {
  return await importSigningKey(await generateKeyText());
}
