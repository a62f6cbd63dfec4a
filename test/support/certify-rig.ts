/**
 * A draft of the reference connector with a sandbox and its host, and what certifies it on the real
 * Temporal server. Doubled: nothing.
 */
import type { WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { certificationActivities } from '../../src/activities/certifications';
import { requestCertification } from '../../src/db/certifications';
import type { CertificationEnd, CertificationRef } from '../../src/domain/certification';
import { SUITE_VERSION } from '../../src/domain/conformance';
import { tenantId } from '../../src/domain/ids';
import { certifyWorkflowId } from '../../src/domain/workflow-ids';
import type { Host } from '../../src/hosts/kit/host';
import { referenceManifestDigest, startReferenceHost } from '../../src/hosts/reference/host';
import type { CertificationRow } from '../../src/schemas/certification-rows';
import type { CertificationCases } from '../../src/schemas/conformance';
import { readFleet } from '../../src/schemas/fleet';
import { loadShippedSchemes } from '../../src/schemas/shipped-schemes';
import type { CertificationServices } from '../../src/services/certification';
import { publishFleet } from '../../src/services/publications';
import { importSigningKey } from '../../src/signing/keys';
import { CertificationWorkflows } from '../../src/temporal/certification-starter';
import { HOST_IDENTITY, TENANT } from './action-fleet';
import { ActionRig } from './action-rig';
import { PROVIDER_TOKEN, describeHost, type RigHost } from './action-rig-parts';
import type { PointName } from '../../src/points';
import { WaybillProcesses, type WaybillProcess } from './processes';
import { replicaReaches } from './replicas';
import { required } from './test-database';
import { workflowBundle } from './workflow-bundle';

export const DRAFT = { connectorId: 'tickets', version: '1.1.0', suiteVersion: SUITE_VERSION };
export const REQUESTS: CertificationCases['requests'] = {
  'tickets.read': { valid: [{ recordId: 'acme.invoice-1' }], invalid: [] },
  'reports.build': {
    valid: [{ title: 'a report', durationMs: 0 }],
    ...{ invalid: [], slow: { title: 'a long report', durationMs: 10_000 } },
  },
};
const TIMEOUT_MS = 5_000;
const SANDBOX = {
  ...HOST_IDENTITY,
  version: DRAFT.version,
  instanceId: 'sandbox',
  replicaId: 's1',
};

export interface StoredEvidence {
  readonly statement: string;
  readonly content: Buffer;
  readonly ref: string;
  readonly report: {
    readonly cases: readonly { readonly id: string; readonly verdict: string }[];
  };
}

export class CertifyRig {
  readonly rig: ActionRig;
  readonly services: CertificationServices;
  readonly #workflows: CertificationWorkflows;
  readonly #described: RigHost & { readonly temporal: string };
  readonly #processes = new WaybillProcesses();
  #host: Host | undefined;
  #stopWorker: () => Promise<void> = () => Promise.resolve();

  private constructor(
    rig: ActionRig,
    services: CertificationServices,
    described: RigHost & { readonly temporal: string },
  ) {
    this.rig = rig;
    this.services = services;
    this.#described = described;
    this.#workflows = new CertificationWorkflows(rig.client, this.queue, {
      ...{ hostWaitMs: 4_000, heartbeatMs: 2_000 },
    });
  }

  /** @param temporal the server of the test run, unless a test has its own */
  static async start(temporal = required('WAYBILL_TEST_TEMPORAL_ADDRESS')): Promise<CertifyRig> {
    const rig = await ActionRig.start({ temporal });
    const described = await describeHost(SANDBOX.replicaId, rig.folder);
    const services = {
      operations: rig.db.as('waybill_operations'),
      signingKey: await importSigningKey(rig.keyText),
      ...{ nowMs: Date.now, shippedSchemes: loadShippedSchemes },
    };
    const certify = new CertifyRig(rig, services, { ...described, temporal });
    await certify.publish(sandboxFleet(described));
    return certify;
  }

  get queue(): string {
    return `${this.rig.queuePrefix}operations`;
  }

  async publish(documents: readonly object[]): Promise<void> {
    const text = documents.map((document) => JSON.stringify(document)).join('\n---\n');
    const control = this.rig.db.as('waybill_control');
    await publishFleet(control, readFleet(text, loadShippedSchemes()), 'test');
  }

  /** The sandbox's host, ready for work. */
  async host(credentials: readonly string[] = HOST_IDENTITY.credentialRevisions): Promise<void> {
    this.#host = await startReferenceHost({
      identity: { ...SANDBOX, credentialRevisions: credentials },
      keyText: this.#described.keyText,
      storeFile: this.#described.storeFile,
      provider: { url: this.rig.provider.url, token: PROVIDER_TOKEN },
      registration: { url: this.rig.lifecycleUrl, heartbeatMs: 500 },
      listen: { host: '127.0.0.1', port: this.#described.port },
      ...{ timeoutMs: TIMEOUT_MS, providerTimeoutMs: 1_000 },
    });
    await replicaReaches(this.rig.db, SANDBOX.replicaId, 'ready');
  }

  async stopHost(): Promise<void> {
    await this.#host?.stop();
    this.#host = undefined;
  }

  async work(): Promise<void> {
    const connection = await NativeConnection.connect({ address: this.#described.temporal });
    const worker = await Worker.create({
      ...{ connection, taskQueue: this.queue, identity: 'waybill-test' },
      workflowBundle: { codePath: workflowBundle() },
      activities: certificationActivities(this.services),
    });
    const running = worker.run();
    this.#stopWorker = async () => {
      worker.shutdown();
      await running;
      await connection.close();
    };
  }

  /** A worker process on the same queue; with a point, one that stands still there. */
  async worker(holdAt?: PointName): Promise<WaybillProcess> {
    return await this.#processes.worker(['--queues', 'operations'], {
      DATABASE_URL: this.rig.db.url,
      TEMPORAL_ADDRESS: this.#described.temporal,
      WAYBILL_TASK_QUEUE_PREFIX: this.rig.queuePrefix,
      WAYBILL_POOL_SIZE: '3',
      WAYBILL_SIGNING_KEY: 'env:TEST_SIGNING_KEY',
      TEST_SIGNING_KEY: this.rig.keyText,
      WAYBILL_HOLD_AT: holdAt ?? '',
    });
  }

  /** Asks as the API does; the answer's run is started. */
  async ask(more: Partial<CertificationCases> = {}) {
    const cases = { requests: REQUESTS, vectors: [], credential: null, ...more };
    const { x: signer } = this.services.signingKey.publicJwk;
    const wish = { instance: SANDBOX.instanceId, by: 'ada', signer, cases };
    const data = this.rig.db.as('waybill_data');
    return await requestCertification(data, tenantId(TENANT), DRAFT, wish);
  }

  /** Asks, has the run's workflow started, and waits for its end. */
  async certify(more: Partial<CertificationCases> = {}): Promise<CertificationEnd> {
    const asked = await this.ask(more);
    if (!('certification' in asked)) throw new Error(asked.answer);
    return await this.end({ ...DRAFT, run: asked.certification.run });
  }

  async start(ref: CertificationRef): Promise<void> {
    await this.#workflows.start(tenantId(TENANT), ref);
  }

  async end(ref: CertificationRef): Promise<CertificationEnd> {
    await this.start(ref);
    return (await this.handle(ref).result()) as CertificationEnd;
  }

  handle(ref: CertificationRef): WorkflowHandle {
    return this.rig.client.workflow.getHandle(certifyWorkflowId(ref));
  }

  async row(): Promise<CertificationRow> {
    const asked = await this.ask();
    if (!('certification' in asked)) throw new Error(asked.answer);
    return asked.certification;
  }

  /** Every statement with the report that it is about. */
  async evidence(): Promise<StoredEvidence[]> {
    const rows = await this.rig.db.rows<{ statement: string; content: Buffer; ref: string }>(
      `select e.statement, a.content, v.certification_ref as ref from waybill.evidence_statements e
        join waybill.artifacts a on encode(a.sha256, 'hex') = e.content_digest
        join waybill.connector_versions v using (connector_id, version)`,
    );
    return rows.map((row) => ({
      ...row,
      report: JSON.parse(row.content.toString('utf8')) as StoredEvidence['report'],
    }));
  }

  /** Its Connector document. */
  get document(): object {
    return sandboxFleet(this.#described)[0] ?? {};
  }

  async status(): Promise<string | undefined> {
    const rows = await this.rig.db.rows<{ status: string }>(
      `select status from waybill.connector_versions where version = $1`,
      [DRAFT.version],
    );
    return rows[0]?.status;
  }

  async stop(): Promise<void> {
    await this.#processes.end();
    await this.#stopWorker();
    await this.#host?.stop();
    await this.rig.stop();
  }
}

function sandboxFleet({ replicaId, did, port }: RigHost): object[] {
  return [
    {
      ...{ kind: 'Connector', id: 'tickets', name: 'Tickets', provider: 'tickets' },
      ...{ version: DRAFT.version, status: 'draft', artifactDigest: 'a'.repeat(64) },
      manifestDigest: referenceManifestDigest({ identity: SANDBOX, timeoutMs: TIMEOUT_MS }),
      capabilities: ['tickets.create', 'tickets.create_keyed', 'tickets.read', 'reports.build'],
    },
    {
      ...{ kind: 'Instance', tenant: TENANT, id: SANDBOX.instanceId, connector: 'tickets' },
      ...{ version: DRAFT.version, grants: ['tool'] },
      credentials: [{ revision: 'r1', status: 'active' }],
    },
    {
      ...{ kind: 'Replica', tenant: TENANT, id: replicaId, instance: SANDBOX.instanceId },
      ...{ endpoint: `http://127.0.0.1:${String(port)}`, transport: 'http-loopback' },
      ...{ trustDomain: 'acme.test', peer: { did }, region: 'eu', zone: 'a', capacity: 10 },
    },
  ];
}
