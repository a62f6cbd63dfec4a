/**
 * Everything a delivery needs, in this process: its own database, a Temporal worker on its own queue
 * of the real server, a receiver. `accept` stores a verified request as the ingress would.
 */
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import pino from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { deliveryActivities } from '../../src/activities/deliveries';
import { ingestDelivery } from '../../src/db/deliveries';
import { addressPolicy } from '../../src/db/target-addresses';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { deliveryId, subscriptionId, tenantId } from '../../src/domain/ids';
import { deliveryWorkflowId } from '../../src/domain/workflow-ids';
import { referencedSecrets } from '../../src/secrets/references';
import { AttemptClosings } from '../../src/services/attempt-closings';
import type { AttemptServices } from '../../src/services/attempt-services';
import { generateKeyText, importSigningKey } from '../../src/signing/keys';
import { httpTargets } from '../../src/targets/http-target';
import { workflowTargets } from '../../src/temporal/workflow-targets';
import { DeliveryWorkflows } from '../../src/temporal/delivery-starter';
import type { DeliveryTiming } from '../../src/temporal/delivery-starter';
import { ExpressLane } from '../../src/workers/loops/express';
import type { ExpressOptions, ExpressServices } from '../../src/workers/loops/express';
import { Hint } from '../../src/workers/loops/hint';
import { attendRound, gateWalk } from '../../src/workers/loops/attend';
import { runLoop } from '../../src/workers/loops/loop';
import type { CatalogFixture, CatalogOptions } from './catalog-fixture';
import { insertCatalog } from './catalog-fixture';
import { Receiver } from './receiver';
import { createTestDatabase, required } from './test-database';
import { startingActions } from './starting-actions';
import type { TestDatabase } from './test-database';
import { until } from './until';
import { workflowBundle } from './workflow-bundle';
import { ifThere, pageSays } from './workflow-pages';

export interface DeliveryRow {
  readonly state: string;
  readonly attempts: number;
  readonly series: number;
  readonly reason: string | null;
  readonly receipt_seq: number;
}

/** Histories are kept: they must not name a machine. */
const IDENTITY = 'waybill-test';

const WAITING_SINCE = defineSearchAttributeKey('WaybillWaitingSince', 'DATETIME');

const QUICK: DeliveryTiming = { failedWaitMs: 30_000, heldPollMs: 50, heartbeatMs: 2_000 };

export class DeliveryRig {
  readonly db: TestDatabase;
  readonly receiver: Receiver;
  readonly client: Client;
  readonly services: AttemptServices;
  readonly queuePrefix = `test-${randomUUID()}-`;
  readonly queue = `${this.queuePrefix}deliveries`;
  readonly #walk = gateWalk();
  readonly #closers: (() => Promise<unknown>)[] = [];

  private constructor(parts: {
    db: TestDatabase;
    receiver: Receiver;
    connection: Connection;
    services: AttemptServices;
  }) {
    this.db = parts.db;
    this.receiver = parts.receiver;
    this.client = new Client({ connection: parts.connection, identity: IDENTITY });
    this.services = parts.services;
  }

  /** @param given a database that is there already, and what starts actions on it */
  static async start(given?: {
    readonly db: TestDatabase;
    readonly actions: AttemptServices['actions'];
  }): Promise<DeliveryRig> {
    const address = required('WAYBILL_TEST_TEMPORAL_ADDRESS');
    const db = given?.db ?? (await createTestDatabase());
    const receiver = await Receiver.start();
    const connection = await Connection.connect({ address });
    const targets = httpTargets({
      policy: addressPolicy(db.as('waybill_data')),
    });
    const data = db.as('waybill_data');
    const services: AttemptServices = {
      ...{ data, closings: new AttemptClosings(data) },
      signingKey: await importSigningKey(await generateKeyText()),
      secrets: referencedSecrets({ env: process.env }),
      call: targets.call,
      workflows: workflowTargets(new Client({ connection }), []),
      random: () => 0,
      actions: given?.actions ?? startingActions(db.as('waybill_data'), () => undefined),
    };
    const rig = new DeliveryRig({ db, receiver, connection, services });
    rig.#closers.push(
      () => receiver.stop(),
      () => targets.close(),
      () => connection.close(),
      ...(given === undefined ? [() => db.drop()] : []),
    );
    return rig;
  }

  catalog(options: CatalogOptions = {}): Promise<CatalogFixture> {
    return insertCatalog(this.db, { targetUrl: `${this.receiver.url}/hook`, ...options });
  }

  /**
   * Runs the worker, and releases what waits at gates, until the rig stops.
   * @param slots attempts that it makes at once
   * @param express whether the loop of the express lane runs, too
   */
  async work({ slots = 100, express = true } = {}): Promise<void> {
    this.#loop('attend', () => this.attend());
    const lane = this.expressLane();
    if (express) {
      this.#loop(
        'express',
        () => lane.round(),
        () => lane.drain(2_000),
      );
    }
    const connection = await NativeConnection.connect({
      address: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    });
    const worker = await Worker.create({
      connection,
      taskQueue: this.queue,
      identity: IDENTITY,
      workflowBundle: { codePath: workflowBundle() },
      activities: deliveryActivities(this.services),
      maxCachedWorkflows: 100,
      maxConcurrentActivityTaskExecutions: slots,
      shutdownGraceTime: 2_000,
    });
    const running = worker.run();
    this.#closers.unshift(async () => {
      worker.shutdown();
      await running;
      await connection.close();
    });
  }

  /** A loop of the express lane. */
  expressLane(given: Partial<ExpressServices & ExpressOptions> = {}): ExpressLane {
    return new ExpressLane({
      operations: this.db.as('waybill_operations'),
      services: {
        attempts: this.services,
        start: given.start ?? ((ref, about) => this.workflows().ensure(ref, about)),
      },
      owner: 'test-lane',
      hint: given.hint ?? new Hint(),
      signal: given.signal ?? new AbortController().signal,
      log: pino({ level: 'silent' }),
    });
  }

  #loop(
    name: string,
    round: () => Promise<boolean>,
    after: () => Promise<void> = () => Promise.resolve(),
  ): void {
    const stopping = new AbortController();
    const { signal } = stopping;
    const log = pino({ level: 'silent' });
    const loop = runLoop({ name, intervalMs: 50, round, signal, log });
    this.#closers.unshift(async () => {
      stopping.abort();
      await loop;
      await after();
    });
  }

  /** One round of the loop beside the worker: releases, starts and wakes. */
  attend(): Promise<boolean> {
    const operations = this.db.as('waybill_operations');
    const log = pino({ level: 'silent' });
    return attendRound({ operations, workflows: this.workflows(), log, walk: this.#walk });
  }

  workflows(timing: Partial<DeliveryTiming> = {}): DeliveryWorkflows {
    return new DeliveryWorkflows(this.client, this.queue, { ...QUICK, ...timing });
  }

  /** Stores a verified request, as the ingress does. */
  async accept(
    fixture: CatalogFixture,
    body: string | Uint8Array = '{"n":1}',
  ): Promise<DeliveryRef> {
    const id = deliveryId(uuidv7());
    await ingestDelivery(this.services.data, {
      tenantId: tenantId(fixture.tenant),
      deliveryId: id,
      subscriptionId: subscriptionId(fixture.subscription),
      connectorId: fixture.connector,
      instanceId: 'main',
      externalId: id,
      eventType: 'push',
      contentType: 'application/json',
      keptHeaders: [['x-github-event', 'push']],
      evidence: { scheme: 'hmac', secretId: 'current' },
      payload: Buffer.from(body),
      dedupKey: id,
      freshness: null,
      attendAfterMs: 2_000,
    });
    return { tenantId: tenantId(fixture.tenant), deliveryId: id };
  }

  /** Accepts, and starts its workflow where its lane has one from the start. */
  async deliver(
    fixture: CatalogFixture,
    timing: Partial<DeliveryTiming> = {},
  ): Promise<DeliveryRef> {
    const ref = await this.accept(fixture);
    if (fixture.lane === 'durable') await this.start(ref, fixture, timing);
    return ref;
  }

  async start(
    ref: DeliveryRef,
    fixture: CatalogFixture,
    timing: Partial<DeliveryTiming> = {},
  ): Promise<void> {
    await this.workflows(timing).ensure(ref, {
      connectorId: fixture.connector,
      eventType: 'push',
      subscriptionId: fixture.subscription,
    });
  }

  handle(ref: DeliveryRef) {
    return this.client.workflow.getHandle(deliveryWorkflowId(ref.tenantId, ref.deliveryId));
  }

  async row(ref: DeliveryRef): Promise<DeliveryRow> {
    const [row] = await this.db.rows<DeliveryRow>(
      `select state, attempts, series, reason, receipt_seq from waybill.deliveries
        where tenant_id = $1 and delivery_id = $2`,
      [ref.tenantId, ref.deliveryId],
    );
    if (row === undefined) throw new Error('there is no such delivery');
    return row;
  }

  /** The row once it is in this state. */
  reaches(ref: DeliveryRef, state: string, deadlineMs?: number): Promise<DeliveryRow> {
    return until(
      `${ref.deliveryId} is ${state}`,
      async () => {
        const row = await this.row(ref);
        return row.state === state ? row : null;
      },
      deadlineMs,
    );
  }

  /** Resolves once the Temporal UI shows the delivery as waiting. */
  async waits(ref: DeliveryRef): Promise<void> {
    await until('its workflow waits', async () => {
      const found = await ifThere(() => this.handle(ref).describe());
      return found?.typedSearchAttributes.get(WAITING_SINCE);
    });
  }

  /** What its page in the Temporal UI says, once that matches. */
  says(ref: DeliveryRef, pattern: RegExp): Promise<string> {
    return pageSays(this.handle(ref), pattern);
  }

  /** Names of the delivery's events, in their order. */
  async events(ref: DeliveryRef): Promise<string[]> {
    const rows = await this.db.rows<{ topic: string }>(
      `select topic from waybill.outbox_events where tenant_id = $1 and aggregate = $2
        order by aggregate_seq`,
      [ref.tenantId, `delivery/${ref.deliveryId}`],
    );
    return rows.map((row) => row.topic.split('.').at(-1) ?? '');
  }

  async receipts(ref: DeliveryRef): Promise<string[]> {
    const rows = await this.db.rows<{ jws: string }>(
      `select jws from waybill.receipts where tenant_id = $1 and subject = $2 order by seq`,
      [ref.tenantId, `delivery/${ref.deliveryId}`],
    );
    return rows.map((row) => row.jws);
  }

  async stop(): Promise<void> {
    for (const close of this.#closers) await close();
  }
}
