/**
 * A rig with the queue of operations beside that of deliveries: bulk replays on the real Temporal
 * server, a real Postgres and a real target. Doubled: nothing.
 */
import { NativeConnection, Worker } from '@temporalio/worker';
import { v7 as uuidv7 } from 'uuid';
import { bulkReplayActivities } from '../../src/activities/bulk-replays';
import type { BulkReplayWish } from '../../src/db/bulk-replays';
import { createBulkReplay } from '../../src/db/bulk-replays';
import type { BulkReplayMove, BulkReplayRef, BulkReplayState } from '../../src/domain/bulk-replays';
import { replayJobId, tenantId } from '../../src/domain/ids';
import { bulkReplayWorkflowId } from '../../src/domain/workflow-ids';
import type { BulkReplayDetailRow } from '../../src/schemas/api-bulk-replays';
import type { BulkReplayServices } from '../../src/services/bulk-replays';
import { decideBulkMove } from '../../src/services/bulk-replays';
import type { BulkReplayTiming } from '../../src/temporal/bulk-replay-starter';
import { BulkReplayWorkflows } from '../../src/temporal/bulk-replay-starter';
import { storedJob, WISH } from './bulk-replays';
import type { CatalogFixture } from './catalog-fixture';
import { DeliveryRig } from './delivery-rig';
import { required } from './test-database';
import { until } from './until';
import { workflowBundle } from './workflow-bundle';
import { pageSays } from './workflow-pages';

const QUICK: BulkReplayTiming = { waitMs: 30_000, heartbeatMs: 2_000 };

export class BulkReplayRig {
  readonly rig: DeliveryRig;
  readonly services: BulkReplayServices;
  #stopWorker: () => Promise<void> = () => Promise.resolve();

  private constructor(rig: DeliveryRig) {
    this.rig = rig;
    const workflows = rig.workflows();
    this.services = {
      ...{ data: rig.services.data, signingKey: rig.services.signingKey },
      random: () => 0,
      nudge: (ref, about) => workflows.replay(ref, about),
    };
  }

  static async start(): Promise<BulkReplayRig> {
    return new BulkReplayRig(await DeliveryRig.start());
  }

  get queue(): string {
    return `${this.rig.queuePrefix}operations`;
  }

  /** Runs both workers until the rig stops. */
  async work(changes: Partial<BulkReplayServices> = {}): Promise<void> {
    await this.rig.work();
    const connection = await NativeConnection.connect({
      address: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
    });
    const worker = await Worker.create({
      connection,
      taskQueue: this.queue,
      identity: 'waybill-test',
      workflowBundle: { codePath: workflowBundle() },
      activities: bulkReplayActivities({ ...this.services, ...changes }),
      shutdownGraceTime: 2_000,
    });
    const running = worker.run();
    this.#stopWorker = async () => {
      worker.shutdown();
      await running;
      await connection.close();
    };
  }

  workflows(timing: Partial<BulkReplayTiming> = {}): BulkReplayWorkflows {
    return new BulkReplayWorkflows(this.rig.client, this.queue, { ...QUICK, ...timing });
  }

  /** Asks for a job, as the API does. */
  async plan(
    fixture: Pick<CatalogFixture, 'tenant'>,
    wish: Partial<BulkReplayWish> = {},
    timing: Partial<BulkReplayTiming> = {},
  ): Promise<BulkReplayRef> {
    const ref = { tenantId: tenantId(fixture.tenant), jobId: replayJobId(uuidv7()) };
    await createBulkReplay(this.services.data, ref, { ...WISH, ...wish }, 100);
    await this.workflows(timing).nudge(ref);
    return ref;
  }

  /** Moves it, as the API does. */
  async move(ref: BulkReplayRef, move: BulkReplayMove): Promise<void> {
    const moved = await decideBulkMove(this.services, { ...ref, move, by: 'bob', reason: null });
    if (moved.kind === 'unknown_job' || moved.kind === 'refused') throw new Error(moved.kind);
    await this.workflows().nudge(ref);
  }

  job(ref: BulkReplayRef): Promise<BulkReplayDetailRow> {
    return storedJob(this.rig.db, ref);
  }

  /** The job once it is in this state; when that is its end, with its receipt. */
  reaches(
    ref: BulkReplayRef,
    state: BulkReplayState,
    deadlineMs?: number,
  ): Promise<BulkReplayDetailRow> {
    return until(
      `the job is ${state}`,
      async () => {
        const job = await this.job(ref);
        const ended = job.finishedAt === null || job.receipt !== null;
        return job.state === state && ended ? job : null;
      },
      deadlineMs,
    );
  }

  handle(ref: BulkReplayRef) {
    return this.rig.client.workflow.getHandle(bulkReplayWorkflowId(ref));
  }

  /** What its page in the Temporal UI says, once that matches. */
  says(ref: BulkReplayRef, pattern: RegExp): Promise<string> {
    return pageSays(this.handle(ref), pattern);
  }

  async stop(): Promise<void> {
    await this.#stopWorker();
    await this.rig.stop();
  }
}
