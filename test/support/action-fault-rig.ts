/**
 * A rig for actions whose workers, API and hosts are real processes, started from the build and killed
 * by the tests. Postgres, Temporal, the provider and the lifecycle service are the rig's.
 */
import { fleetStatusProvider } from '../../src/db/replicas';
import type { ActionOrder, ActionRef } from '../../src/domain/action-service';
import type { ReferenceHostOptions } from '../../src/hosts/reference/host';
import type { PointName } from '../../src/points';
import type { ReadAction } from '../../src/schemas/action-step-rows';
import { actionService } from '../../src/services/actions/starting';
import { importSigningKey, publicKeySet } from '../../src/signing/keys';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import { ActionWorkflows, type ActionTiming } from '../../src/temporal/action-starter';
import { HostProcess } from '../hosts/support/host-process';
import { HOST_IDENTITY, TENANT } from './action-fleet';
import { ActionRig } from './action-rig';
import { OTHER_ACCOUNT, PROVIDER_TOKEN, type RigHost, type RigServers } from './action-rig-parts';
import { WaybillProcesses, type RunningApi, type WaybillProcess } from './processes';
import { heldEffects } from './provider-holds';
import { startingActions } from './starting-actions';
import { required } from './test-database';
import { testKey } from './test-signer';
import { until } from './until';

/** After that a host takes an effect that it does not find for one that was never made. */
const PROVIDER_TIMEOUT_MS = 400;
/** A worker's death is noticed this soon; on a loaded machine a living one may be taken for dead, too. */
export const SHORT_HEARTBEAT_MS = 2_000;
const TIMING = { heartbeatMs: 10_000, pickUpMs: 20_000, heldPollMs: 500 } as const;

type HostChanges = Partial<
  Pick<ReferenceHostOptions, 'keyText' | 'registration' | 'storeFile' | 'providerTimeoutMs'>
> & {
  readonly holdAt?: PointName;
  /** Where it listens; the catalog's endpoint is another one then. */
  readonly port?: number;
};

/** A task queue of its own and those who serve it: what is held there holds nobody else. */
export interface Lane {
  /** A worker that polls; with points, one that stands still where it comes to the first of them. */
  worker(...holdAt: readonly PointName[]): Promise<WaybillProcess>;
  api(holdAt?: PointName): Promise<RunningApi>;
  /** A worker in the test's own process: whoever takes over after a death, for good. */
  heir(): Promise<void>;
  /** Starts an action and its workflow. */
  start(capabilityId?: string, more?: Partial<ActionOrder>): Promise<ActionRef>;
}

export class ActionFaultRig {
  readonly rig: ActionRig;
  readonly #processes = new WaybillProcesses();
  readonly #temporal: string;
  #lanes = 0;

  private constructor(rig: ActionRig, temporal: string) {
    this.rig = rig;
    this.#temporal = temporal;
  }

  static async start(servers: Partial<RigServers> = {}): Promise<ActionFaultRig> {
    const rig = await ActionRig.start(servers);
    // Hosts are killed all the time here: that is not to keep anything from them.
    await rig.db.rows('update waybill.settings set circuit_unknowns = 0');
    const { temporal = required('WAYBILL_TEST_TEMPORAL_ADDRESS') } = servers;
    return new ActionFaultRig(rig, temporal);
  }

  get home(): string {
    return this.#processes.home;
  }

  /** @param temporal where its processes reach the Temporal server */
  lane(timing: Partial<ActionTiming> = {}, temporal = this.#temporal): Lane {
    const prefix = `${this.rig.queuePrefix}${String((this.#lanes += 1))}-`;
    const workflows = new ActionWorkflows(this.rig.client, `${prefix}actions`, {
      ...TIMING,
      ...timing,
    });
    const actions = actionService(
      startingActions(this.rig.services.data, (action) => {
        workflows.ensure(action).catch(() => undefined);
      }),
    );
    const environment = (holdAt: string) => ({
      DATABASE_URL: this.rig.db.url,
      TEMPORAL_ADDRESS: temporal,
      WAYBILL_TASK_QUEUE_PREFIX: prefix,
      WAYBILL_HELD_POLL: '500ms',
      WAYBILL_POOL_SIZE: '3',
      WAYBILL_SIGNING_KEY: 'env:TEST_SIGNING_KEY',
      TEST_SIGNING_KEY: this.rig.keyText,
      WAYBILL_HOLD_AT: holdAt,
    });
    return {
      worker: (...holdAt) =>
        this.#processes.worker(['--queues', 'actions'], environment(holdAt.join(','))),
      api: (holdAt) => this.#processes.api([], environment(holdAt ?? '')),
      heir: () => this.rig.work(`${prefix}actions`),
      start: async (capabilityId = 'tickets.create', more = {}) => {
        const order = this.rig.order(capabilityId, { title: 'Broken lamp' }, more);
        await actions.start(order);
        return order;
      },
    };
  }

  /** A host process, ready for work where it registers; the second one acts on an account of its own. */
  async host(nth: 0 | 1, changes: HostChanges = {}): Promise<HostProcess> {
    const described = this.described(nth);
    const { holdAt, port = described.port, ...rest } = changes;
    const host = await HostProcess.start(
      {
        identity: { ...HOST_IDENTITY, replicaId: described.replicaId },
        keyText: described.keyText,
        storeFile: described.storeFile,
        provider: {
          url: this.rig.provider.url,
          token: nth === 0 ? PROVIDER_TOKEN : OTHER_ACCOUNT.token,
        },
        registration: { url: this.rig.lifecycleUrl, heartbeatMs: 200, retryMs: 100 },
        listen: { host: '127.0.0.1', port },
        timeoutMs: 5_000,
        providerTimeoutMs: PROVIDER_TIMEOUT_MS,
        ...rest,
      },
      holdAt ?? '',
    );
    this.#processes.add(host);
    if (rest.registration === undefined) await this.rig.ready(described.replicaId);
    return host;
  }

  described(nth: 0 | 1): RigHost {
    const described = this.rig.hosts[nth];
    if (described === undefined) throw new Error('there is no such host');
    return described;
  }

  /**
   * Completed, with one result and with the effects that the provider has; all of them through the
   * host of the route, and nothing left open or counted for it.
   */
  async completes(ref: ActionRef, deadlineMs = 40_000): Promise<ReadAction> {
    const row = await this.rig.reaches(ref, 'completed', deadlineMs);
    expect(row.result).toMatchObject({ outcome: 'succeeded', errorCode: null });
    expect(await this.effects(ref)).toEqual({ assigned: 1, elsewhere: 0 });
    expect(await this.open(ref)).toBe(0);
    await this.attested(ref);
    return row;
  }

  /** Its chain of receipts is whole, and ends with the one end that it has. */
  async attested(ref: ActionRef): Promise<void> {
    const chain = await this.rig.db.rows<{ kind: string; jws: string }>(
      `select kind, jws from waybill.receipts where tenant_id = $1 and subject = 'action/' || $2
        order by seq`,
      [ref.tenantId, ref.actionId],
    );
    const keys = publicKeySet([await importSigningKey(this.rig.keyText), await testKey()]);
    const jws = chain.map((receipt) => receipt.jws);
    expect((await verifyReceiptChain(jws, keys)).problems).toEqual([]);
    const ends = chain.filter(({ kind }) => kind.startsWith('action_'));
    expect(ends.map(({ kind }) => kind)).toEqual(['action_completed']);
    expect(chain.at(-1)?.kind).toBe('action_completed');
  }

  /** Effects at the provider: by the host of the route, and by anybody else. */
  async effects(
    ref: ActionRef,
  ): Promise<{ readonly assigned: number; readonly elsewhere: number }> {
    const [route] = await this.rig.db.rows<{ replica_id: string; attempted: string[] | null }>(
      `select r.replica_id, (select array_agg(distinct t.replica_id) from waybill.route_attempts t
          where t.tenant_id = r.tenant_id and t.action_id = r.action_id) as attempted
        from waybill.routes r where r.tenant_id = $1 and r.action_id = $2`,
      [ref.tenantId, ref.actionId],
    );
    expect(route?.attempted).toEqual([route?.replica_id]);
    const { ledger } = this.rig.provider;
    const counts = [TENANT, OTHER_ACCOUNT.account].map(
      (account) => ledger.findByReference(account, ref.actionId).length,
    );
    if (route?.replica_id !== this.described(0).replicaId) counts.reverse();
    const [assigned = 0, elsewhere = 0] = counts;
    return { assigned, elsewhere };
  }

  /** Open attempts of the action. */
  async open(ref: ActionRef): Promise<number> {
    const attempts = await this.attempts(ref);
    return attempts.filter(({ settlement }) => settlement === null).length;
  }

  /** Its attempts, once the first of them is settled. */
  async settled(ref: ActionRef): Promise<readonly AttemptRow[]> {
    return await until('the first attempt is settled', async () => {
      const attempts = await this.attempts(ref);
      return attempts[0] === undefined || attempts[0].settlement === null ? null : attempts;
    });
  }

  async attempts(ref: ActionRef): Promise<readonly AttemptRow[]> {
    return await this.rig.db.rows<AttemptRow>(
      `select attempt_no, settlement, cause, evidence, late_evidence as late from waybill.route_attempts
        where tenant_id = $1 and action_id = $2 order by attempt_no`,
      [ref.tenantId, ref.actionId],
    );
  }

  /** Whatever was counted for the open attempts, and for nothing else, is counted. */
  async balances(open = 0): Promise<void> {
    expect(await this.rig.balance()).toEqual({ open, assigned: open, held: open });
  }

  /** The same while other cases are under way, whatever they have open. */
  async balancesBeside(): Promise<void> {
    const { open, ...counted } = await this.rig.balance();
    expect(counted).toEqual({ assigned: open, held: open });
  }

  /** What a worker's loop does, at once. */
  async sweep(): Promise<void> {
    await fleetStatusProvider(this.rig.db.as('waybill_operations')).sweep(100);
  }

  /** Lets the next effects stand at the provider, committed and unanswered. */
  async holdAtProvider(count: number): Promise<void> {
    await this.rig.holdEffects(count);
  }

  async heldAtProvider(count: number): Promise<void> {
    await heldEffects(this.rig.provider.url, count);
  }

  async releaseProvider(): Promise<void> {
    await this.rig.holdEffects(0);
  }

  async stop(): Promise<void> {
    await this.#processes.end();
    await this.rig.stop();
  }
}

interface AttemptRow {
  readonly attempt_no: number;
  readonly settlement: string | null;
  readonly cause: string | null;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly late: readonly Readonly<Record<string, unknown>>[];
}
