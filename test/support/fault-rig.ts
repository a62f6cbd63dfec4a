/**
 * A rig whose worker and API are real processes, started from the build and killed by the tests.
 * Postgres, Temporal and the target are the rig's.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { PointName } from '../../src/points';
import { DeliveryRig } from './delivery-rig';
import { WaybillProcess } from './processes';
import { required } from './test-database';

export const INGRESS_SECRET = 'fault-rig-secret';

export class FaultRig {
  readonly rig: DeliveryRig;
  readonly #home = mkdtempSync(path.join(tmpdir(), 'waybill-faults-'));
  readonly #processes: WaybillProcess[] = [];

  private constructor(rig: DeliveryRig) {
    this.rig = rig;
  }

  static async start(): Promise<FaultRig> {
    return new FaultRig(await DeliveryRig.start());
  }

  /** A worker that polls; with a point, one that stands still there. */
  async worker(holdAt?: PointName): Promise<WaybillProcess> {
    const worker = this.#spawn(['worker'], holdAt);
    await worker.logged('worker started');
    return worker;
  }

  /** An API that listens, and where. */
  async api(holdAt?: PointName): Promise<{ readonly api: WaybillProcess; readonly url: string }> {
    const api = this.#spawn(['api'], holdAt);
    const { url } = await api.logged('api started');
    return { api, url: String(url) };
  }

  get home(): string {
    return this.#home;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.kill()));
    await this.rig.stop();
    rmSync(this.#home, { recursive: true, force: true });
  }

  #spawn(args: readonly string[], holdAt?: PointName): WaybillProcess {
    const started = new WaybillProcess(args, {
      DATABASE_URL: this.rig.db.url,
      TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
      WAYBILL_TASK_QUEUE_PREFIX: this.rig.queuePrefix,
      WAYBILL_HOME: this.#home,
      WAYBILL_PORT: '0',
      WAYBILL_HEALTH_PORT: '0',
      WAYBILL_HEARTBEAT_TIMEOUT: '1s',
      WAYBILL_POOL_SIZE: '4',
      WAYBILL_HOLD_AT: holdAt ?? '',
      TEST_INGRESS_SECRET: INGRESS_SECRET,
    });
    this.#processes.push(started);
    return started;
  }
}
