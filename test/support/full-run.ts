/**
 * Waybill as it runs: API, worker and host as processes of the build, each telling all that it can tell,
 * over a database and a Temporal server; a Vault, a receiver that sends back what it was sent, a provider,
 * and a proxy before the host. Whatever the API answers is kept.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { importSigningKey } from '../../src/signing/keys';
import { issueDevelopmentToken } from '../../src/http/tokens/development';
import { referenceManifestDigest } from '../../src/hosts/reference/host';
import { SCOPES } from '../../src/http/scopes';
import { freePort } from '../../src/workers/embedded/ports';
import { HOST_IDENTITY, TENANT } from './action-fleet';
import { ActionRig } from './action-rig';
import { PROVIDER_TOKEN } from './action-rig-parts';
import { WaybillProcesses, type WaybillProcess } from './processes';
import { Receiver } from './receiver';
import { RecordingProxy } from './recording-proxy';
import type { Found } from './secret-hunt';
import { required } from './test-database';
import { VaultPeer } from './vault';

export class FullRun {
  readonly rig: ActionRig;
  readonly vault: VaultPeer;
  readonly receiver: Receiver;
  /** Sees every call of the worker to the host. */
  readonly proxy: RecordingProxy;
  readonly answers: Found[] = [];
  /** Of the API. */
  token = '';
  url = '';
  grpcPort = 0;
  readonly #processes = new WaybillProcesses();
  readonly #running: [string, WaybillProcess][] = [];
  readonly #secrets: Readonly<Record<string, string>>;

  private constructor(
    parts: Pick<FullRun, 'rig' | 'vault' | 'receiver' | 'proxy'>,
    secrets: Readonly<Record<string, string>>,
  ) {
    this.rig = parts.rig;
    this.vault = parts.vault;
    this.receiver = parts.receiver;
    this.proxy = parts.proxy;
    this.#secrets = secrets;
  }

  /** @param secrets variables that its processes have beside their settings */
  static async start(secrets: Readonly<Record<string, string>>): Promise<FullRun> {
    const rig = await ActionRig.start();
    const [host] = rig.hosts;
    if (host === undefined) throw new Error('there is no host');
    const proxy = await RecordingProxy.start(host.port);
    const [vault, receiver] = await Promise.all([VaultPeer.start(), Receiver.start()]);
    receiver.decide = ({ path: at, headers, body }) => ({
      status: Number(/^\/(\d+)/.exec(at)?.[1] ?? 200),
      body: JSON.stringify({ at, headers, body: body.toString('utf8') }),
    });
    const run = new FullRun({ rig, vault, receiver, proxy }, secrets);
    try {
      await run.#startProcesses();
      return run;
    } catch (error) {
      await run.stop();
      throw error;
    }
  }

  get environment(): Record<string, string> {
    return {
      DATABASE_URL: this.rig.db.url,
      TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
      WAYBILL_TASK_QUEUE_PREFIX: this.rig.queuePrefix,
      WAYBILL_LOG_LEVEL: 'trace',
      WAYBILL_SHUTDOWN_GRACE: '1s',
      WAYBILL_HELD_POLL: '500ms',
      WAYBILL_POOL_SIZE: '4',
      WAYBILL_TENANT_SECRETS: 'vault:kv/hooks',
      WAYBILL_SIGNING_KEY: 'env:PLANTED_SIGNING_KEY',
      PLANTED_SIGNING_KEY: this.rig.keyText,
      VAULT_ADDR: this.vault.url,
      VAULT_TOKEN: this.vault.token,
      ...this.#secrets,
    };
  }

  async #startProcesses(): Promise<void> {
    const env = this.environment;
    const serve = ['--serve', 'api,ingress,lifecycle,admin,grpc'];
    const { api, url } = await this.#processes.api(serve, env);
    this.#running.push(['api', api]);
    this.url = url;
    const { grpcAddress } = await api.logged('api started');
    this.grpcPort = Number(String(grpcAddress).split(':').at(-1));
    this.#running.push(['worker', await this.#processes.worker([], env)]);
    const [described] = this.rig.hosts;
    // The program `waybill host` lets its actions take longer than the rig's hosts.
    await this.rig.db.rows(
      `update waybill.connector_versions set manifest_digest = $1 where connector_id = 'tickets'`,
      [referenceManifestDigest({ identity: HOST_IDENTITY })],
    );
    const port = await freePort();
    this.proxy.upstream = `http://127.0.0.1:${port}`;
    const host = this.#processes.spawn(['host'], {
      ...env,
      WAYBILL_HOST_REPLICA: described?.replicaId ?? '',
      WAYBILL_HOST_TENANT: HOST_IDENTITY.tenantId,
      WAYBILL_HOST_CONNECTOR: HOST_IDENTITY.connectorId,
      WAYBILL_HOST_CONNECTOR_VERSION: HOST_IDENTITY.version,
      WAYBILL_HOST_INSTANCE: HOST_IDENTITY.instanceId,
      WAYBILL_HOST_CREDENTIALS: HOST_IDENTITY.credentialRevisions.join(','),
      WAYBILL_HOST_KEY: 'env:PLANTED_HOST_KEY',
      PLANTED_HOST_KEY: described?.keyText ?? '',
      WAYBILL_HOST_STORE: described?.storeFile ?? '',
      WAYBILL_HOST_LIFECYCLE_URL: url,
      WAYBILL_HOST_HEARTBEAT: '200ms',
      WAYBILL_HOST_PROVIDER_URL: this.rig.provider.url,
      WAYBILL_HOST_PROVIDER_TOKEN: 'env:PLANTED_PROVIDER_TOKEN',
      WAYBILL_HOST_PROVIDER_TIMEOUT: '5s',
      PLANTED_PROVIDER_TOKEN: PROVIDER_TOKEN,
      WAYBILL_HOST_LISTEN: `127.0.0.1:${port}`,
    });
    this.#running.push(['host', host]);
    await this.rig.ready(described?.replicaId ?? '');
    this.token = await issueDevelopmentToken(await importSigningKey(this.developmentKey()), {
      tenantId: TENANT,
      subject: 'ada',
      scopes: Object.keys(SCOPES),
      issuedAt: new Date(),
      lifetimeS: 600,
    });
  }

  developmentKey(): string {
    const file = path.join(this.#processes.home, 'keys', 'development-tokens.jwk');
    return readFileSync(file, 'utf8');
  }

  /** Calls the API or an ingress; the answer is kept, and given as JSON where it is some. */
  async ask(
    at: string,
    request: {
      readonly method?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const response = await fetch(`${this.url}${at}`, {
      ...request,
      headers: { authorization: `Bearer ${this.token}`, ...request.headers },
    });
    const text = await response.text();
    const headers = JSON.stringify(Object.fromEntries(response.headers.entries()));
    const where = `answer ${request.method ?? 'GET'} ${at.split('?')[0] ?? ''}`;
    this.answers.push({ where, text: `${headers}\n${text}` });
    return { status: response.status, text };
  }

  /** Ends the processes in order and answers what each has said. */
  async end(): Promise<Found[]> {
    for (const [, one] of this.#running.toReversed()) await one.stop();
    return this.#running.map(([name, { text }]) => ({
      where: `log of ${name}`,
      text: text.join('\n'),
    }));
  }

  async stop(): Promise<void> {
    await this.#processes.end();
    await this.proxy.stop();
    await this.vault.close();
    await this.receiver.stop();
    await this.rig.stop();
  }
}
