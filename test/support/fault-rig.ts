/**
 * A rig whose worker and API are real processes, started from the build and killed by the tests.
 * Postgres, Temporal and the target are the rig's.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import { issueDevelopmentToken } from '../../src/http/tokens/development';
import type { PointName } from '../../src/points';
import { importSigningKey } from '../../src/signing/keys';
import { DeliveryRig } from './delivery-rig';
import { WaybillProcesses, type RunningApi, type WaybillProcess } from './processes';
import { SINK_SECRET } from './sink-rig';
import { required } from './test-database';

export const INGRESS_SECRET = 'fault-rig-secret';
/** What the variable `TEST_OTHER_SECRET` of its processes holds. */
export const OTHER_SECRET = 'fault-rig-other-secret';

type Settings = Readonly<Record<string, string>>;

export class FaultRig {
  readonly rig: DeliveryRig;
  readonly #queues: string;
  readonly #processes = new WaybillProcesses();

  private constructor(rig: DeliveryRig, queues: string) {
    this.rig = rig;
    this.#queues = queues;
  }

  /** @param queues that its workers serve: each costs every start of one a third of a second */
  static async start(queues = 'deliveries'): Promise<FaultRig> {
    return new FaultRig(await DeliveryRig.start(), queues);
  }

  /** A worker that polls; with a point, one that stands still there. */
  worker(holdAt?: PointName, settings: Settings = {}): Promise<WaybillProcess> {
    const environment = { ...this.#environment(holdAt), ...settings };
    return this.#processes.worker(['--queues', this.#queues], environment);
  }

  api(holdAt?: PointName): Promise<RunningApi> {
    return this.#processes.api([], this.#environment(holdAt));
  }

  /** A token for the APIs of the rig. */
  async token(scopes: readonly string[], tenant = 'acme'): Promise<string> {
    const key = readFileSync(path.join(this.home, 'keys', 'development-tokens.jwk'), 'utf8');
    return await issueDevelopmentToken(await importSigningKey(key), {
      ...{ tenantId: tenantId(tenant), subject: 'ada@example.test', scopes },
      ...{ issuedAt: new Date(), lifetimeS: 60 },
    });
  }

  /** One acknowledgement, told once, receipted once, with no attempt left open. */
  async expectOneEnd(ref: DeliveryRef): Promise<void> {
    const { rig } = this;
    expect(await rig.events(ref)).toEqual(['delivery-received', 'delivery-dispatched']);
    expect(await rig.receipts(ref)).toHaveLength(1);
    const open = await rig.db.rows(
      'select attempt_no from waybill.delivery_attempts where delivery_id = $1 and closed_at is null',
      [ref.deliveryId],
    );
    expect(open).toEqual([]);
  }

  get home(): string {
    return this.#processes.home;
  }

  async stop(): Promise<void> {
    await this.#processes.end();
    await this.rig.stop();
  }

  #environment(holdAt?: PointName) {
    return {
      DATABASE_URL: this.rig.db.url,
      TEMPORAL_ADDRESS: required('WAYBILL_TEST_TEMPORAL_ADDRESS'),
      WAYBILL_TASK_QUEUE_PREFIX: this.rig.queuePrefix,
      WAYBILL_HEARTBEAT_TIMEOUT: '1s',
      WAYBILL_POOL_SIZE: '4',
      WAYBILL_HOLD_AT: holdAt ?? '',
      TEST_INGRESS_SECRET: INGRESS_SECRET,
      TEST_OTHER_SECRET: OTHER_SECRET,
      TEST_SINK_SECRET: SINK_SECRET,
    };
  }
}
