/**
 * Everything an action needs, in this process: its own database with a published fleet, the lifecycle
 * service, two hosts over a controlled provider, and a Temporal worker on its own queue of the real
 * server.
 */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { actionActivities } from '../../src/activities/actions';
import { readAction } from '../../src/db/action-steps';
import type { ActionIdentity } from '../../src/domain/action-activities';
import type { ActionOrder, ActionRef, ActionService } from '../../src/domain/action-service';
import { tenantId } from '../../src/domain/ids';
import { actionWorkflowId } from '../../src/domain/workflow-ids';
import type { Host } from '../../src/hosts/kit/host';
import { startProvider, type Provider } from '../../src/hosts/provider/provider';
import { startReferenceHost } from '../../src/hosts/reference/host';
import type { ReadAction } from '../../src/schemas/action-step-rows';
import { readFleet } from '../../src/schemas/fleet';
import type { ActionServices } from '../../src/services/actions/action-services';
import { actionService, type StartServices } from '../../src/services/actions/starting';
import { publishFleet } from '../../src/services/publications';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { ActionWorkflows, type ActionTiming } from '../../src/temporal/action-starter';
import { actionFleet, HOST_IDENTITY, TENANT } from './action-fleet';
import {
  OTHER_ACCOUNT,
  PROVIDER_TOKEN,
  describeHost,
  lifecycleService,
  servicesOf,
  type RigHost,
  type RigServers,
} from './action-rig-parts';
import { holdEffects, releaseEffects } from './provider-holds';
import { replicaReaches } from './replicas';
import { startingActions } from './starting-actions';
import { createTestDatabase, required, type TestDatabase } from './test-database';
import { until } from './until';
import { workflowBundle } from './workflow-bundle';
import { pageSays } from './workflow-pages';

/** Histories are kept: they must not name a machine. */
const IDENTITY = 'waybill-test';
const QUICK: ActionTiming = { heartbeatMs: 2_000, pickUpMs: 20_000, heldPollMs: 500 };
export class ActionRig {
  readonly db: TestDatabase;
  readonly client: Client;
  readonly provider: Provider;
  readonly services: ActionServices;
  readonly actions: ActionService;
  readonly workflows: ActionWorkflows;
  readonly hosts: readonly RigHost[];
  readonly lifecycleUrl: string;
  readonly queuePrefix: string;
  readonly folder: string;
  readonly keyText: string;
  readonly #closers: (() => unknown)[];
  readonly #running = new Map<string, Host>();

  private constructor(parts: Parts) {
    this.db = parts.db;
    this.client = parts.client;
    this.provider = parts.provider;
    this.services = parts.services;
    this.hosts = parts.hosts;
    this.lifecycleUrl = parts.lifecycleUrl;
    this.queuePrefix = parts.queuePrefix;
    this.folder = parts.folder;
    this.keyText = parts.keyText;
    this.#closers = parts.closers;
    this.workflows = new ActionWorkflows(this.client, `${this.queuePrefix}actions`, QUICK);
    this.actions = actionService(this.starting);
  }

  /** @param servers those of the test run, unless a test has its own */
  static async start(servers: Partial<RigServers> = {}): Promise<ActionRig> {
    const temporal = servers.temporal ?? required('WAYBILL_TEST_TEMPORAL_ADDRESS');
    const closers: (() => unknown)[] = [];
    const folder = mkdtempSync(path.join(tmpdir(), 'waybill-actions-'));
    closers.unshift(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const db = servers.db ?? (await createTestDatabase());
    closers.unshift(() => db.drop());
    const connection = await Connection.connect({ address: temporal });
    closers.unshift(() => connection.close());
    const provider = await startProvider({
      file: path.join(folder, 'provider.sqlite'),
      accounts: { [PROVIDER_TOKEN]: TENANT, [OTHER_ACCOUNT.token]: OTHER_ACCOUNT.account },
      listen: { host: '127.0.0.1', port: 0 },
    });
    closers.unshift(() => provider.stop());
    const keyText = await generateKeyText();
    const key = await importSigningKey(keyText);
    const hosts = await Promise.all(['h1', 'h2'].map((id) => describeHost(id, folder)));
    await publishFleet(db.as('waybill_control'), readFleet(actionFleet(hosts), new Map()), 'test');
    const lifecycle = await lifecycleService(db, key);
    closers.unshift(() => lifecycle.app.close());
    const services = servicesOf(db, key);
    closers.unshift(() => services.hosts.close());
    return new ActionRig({
      ...{ db, provider, services, hosts, folder, keyText, closers },
      client: new Client({ connection, identity: IDENTITY }),
      lifecycleUrl: lifecycle.url,
      queuePrefix: `test-${randomUUID()}-`,
    });
  }

  get starting(): StartServices {
    return startingActions(this.services.data, (action, why) => {
      const { workflows } = this;
      const hints = { start: 'ensure', nudge: 'nudge', over: 'tell' } as const;
      workflows[hints[why]](action).catch(() => undefined);
    });
  }

  /** Runs a worker until the rig stops. */
  async work(taskQueue = `${this.queuePrefix}actions`): Promise<void> {
    const connection = await NativeConnection.connect({
      address: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    });
    const worker = await Worker.create({
      connection,
      taskQueue,
      identity: IDENTITY,
      workflowBundle: { codePath: workflowBundle() },
      activities: actionActivities(this.services),
      maxCachedWorkflows: 100,
      shutdownGraceTime: 2_000,
    });
    const running = worker.run();
    this.#closers.unshift(async () => {
      worker.shutdown();
      await running;
      await connection.close();
    });
  }

  /** A host in this process, ready for work. */
  async host(nth: number): Promise<Host> {
    const described = this.hosts[nth];
    if (described === undefined) throw new Error('there is no such host');
    const host = await startReferenceHost({
      identity: { ...HOST_IDENTITY, replicaId: described.replicaId },
      keyText: described.keyText,
      storeFile: described.storeFile,
      provider: { url: this.provider.url, token: PROVIDER_TOKEN },
      registration: { url: this.lifecycleUrl, heartbeatMs: 500 },
      listen: { host: '127.0.0.1', port: described.port },
      timeoutMs: 5_000,
      providerTimeoutMs: 1_000,
    });
    this.#running.set(described.replicaId, host);
    await this.ready(described.replicaId);
    return host;
  }

  async ready(replicaId: string): Promise<void> {
    await replicaReaches(this.db, replicaId, 'ready');
  }

  order(capabilityId: string, request: unknown, more: Partial<ActionOrder> = {}): ActionOrder {
    return {
      tenantId: tenantId(TENANT),
      actionId: randomUUID(),
      capabilityId,
      request,
      affinityKey: null,
      deadlineMs: 60_000,
      retryBudget: 5,
      requestedBy: 'ada',
      ...more,
    };
  }

  /** Starts a ticket and answers its action. */
  async ticket(
    more: Partial<ActionOrder> = {},
    capabilityId = 'tickets.create',
  ): Promise<ActionRef> {
    const order = this.order(capabilityId, { title: 'Broken lamp' }, more);
    await this.actions.start(order);
    return order;
  }

  async row(ref: ActionRef): Promise<ReadAction> {
    const action = await readAction(this.services.data, ref);
    if (action === null) throw new Error('there is no such action');
    return action;
  }

  reaches(ref: ActionRef, state: string, deadlineMs?: number): Promise<ReadAction> {
    return until(
      `${ref.actionId} is ${state}`,
      async () => {
        const row = await this.row(ref);
        return row.state === state ? row : null;
      },
      deadlineMs,
    );
  }

  handle(ref: ActionRef) {
    return this.client.workflow.getHandle(actionWorkflowId(ref));
  }

  /** What its page in the Temporal UI says, once that matches. */
  says(ref: ActionRef, pattern: RegExp): Promise<string> {
    return pageSays(this.handle(ref), pattern);
  }

  /** The next so many effects are committed and not answered; 0 lets go of all that are held. */
  async holdEffects(count: number): Promise<void> {
    const { url } = this.provider;
    await (count === 0 ? releaseEffects(url) : holdEffects(url, count));
  }

  async identity(ref: ActionRef): Promise<ActionIdentity> {
    const { capabilityId, requestDigest, affinityKey } = await this.row(ref);
    const { tenantId: tenant, actionId } = ref;
    return { tenantId: tenant, actionId, capabilityId, requestDigest, affinityKey };
  }

  running(replicaId: string): Host {
    const host = this.#running.get(replicaId);
    if (host === undefined) throw new Error(`${replicaId} does not run`);
    return host;
  }

  /** Effects at the provider: the verdict of every test. */
  effects(ref: ActionRef): number {
    return this.provider.ledger.findByReference(TENANT, ref.actionId).length;
  }

  /** Open attempts and everything that is counted for them; equal, or something leaks. */
  async balance(): Promise<{ open: number; assigned: number; held: number }> {
    const [row] = await this.db.rows<{ open: number; assigned: number; held: number }>(
      `select (select count(*)::integer from waybill.route_attempts where settled_at is null) as open,
        (select coalesce(sum(active_assignments), 0)::integer from waybill.replicas) as assigned,
        (select coalesce(sum(held), 0)::integer from waybill.quota_counters
          where scope = 'tenant') as held`,
    );
    if (row === undefined) throw new Error('there is no balance');
    return row;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#running.values()].map((host) => host.stop()));
    for (const close of this.#closers) await close();
  }
}

interface Parts {
  readonly db: TestDatabase;
  readonly client: Client;
  readonly provider: Provider;
  readonly services: ActionServices;
  readonly hosts: readonly RigHost[];
  readonly lifecycleUrl: string;
  readonly queuePrefix: string;
  readonly folder: string;
  readonly keyText: string;
  readonly closers: (() => unknown)[];
}
