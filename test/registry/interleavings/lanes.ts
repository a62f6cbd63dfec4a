/**
 * A registry in Postgres on which many do everything at once: the product's ports under their roles,
 * publications by the product. Looked at after each round, and all the time within it.
 */
import type { Database } from '../../../src/db/database';
import { actionTargetResolver } from '../../../src/db/routes';
import { WaybillError } from '../../../src/domain/errors';
import { tenantId } from '../../../src/domain/ids';
import type { ActionTargetResolver } from '../../../src/domain/registry-ports';
import { readFleet } from '../../../src/schemas/fleet';
import { publishFleet } from '../../../src/services/publications';
import * as documents from '../../support/fleet-texts';
import { forbidOverbooking, imbalance } from '../../support/recount';
import { createTestDatabase, testPool, type TestDatabase } from '../../support/test-database';
import { ANYWHERE, Rig } from '../fixture';
import { postgresFixture } from '../postgres-fixture';
import { ACTIONS, HOSTS, TENANTS, type Publication, type Step } from './lane-steps';

const HOLD_MS = 40_000;
const CONNECTIONS = 8;
const CAPACITY = 3;
/** A binding that changes must name a credential that is good. */
const REFUSED: readonly string[] = ['publication_busy', 'revision_not_newer', 'fleet_invalid'];

/** By tenant and action: the fence of each attempt, oldest first, and the highest given out. */
type Fences = ReadonlyMap<string, { readonly attempts: readonly number[]; readonly top: number }>;

type Of<Name extends Step['do']> = Extract<Step, { readonly do: Name }>;

export class LaneRegistry {
  readonly #db: TestDatabase;
  readonly #data: Database;
  readonly #resolver: ActionTargetResolver;
  readonly #rig: Rig;
  #policy = 1;

  private constructor(db: TestDatabase) {
    this.#db = db;
    this.#data = testPool(db.url, 'waybill_data', { maxConnections: CONNECTIONS });
    this.#resolver = actionTargetResolver(this.#data, ANYWHERE);
    this.#rig = new Rig(postgresFixture(db));
  }

  static async start(): Promise<LaneRegistry> {
    const registry = new LaneRegistry(await createTestDatabase());
    await registry.#prepare().catch(async (error: unknown) => {
      await registry.close();
      throw error;
    });
    return registry;
  }

  /** Makes all steps at once. */
  async play(round: readonly Step[]): Promise<void> {
    const before = await this.#fences();
    const steps = { busy: true };
    const done = Promise.all(round.map((step) => this.#take(step, before))).finally(() => {
      steps.busy = false;
    });
    // What is found within the round is told after it: no step may be left running.
    const found: unknown[] = [];
    while (steps.busy) found.push(...(await imbalance(this.#db)));
    await done;
    found.push(...(await imbalance(this.#db)));
    expect(found).toEqual([]);
    const after = await this.#fences();
    for (const [action, { attempts, top }] of before) {
      expect(after.get(action)?.top).toBeGreaterThanOrEqual(top);
      expect(after.get(action)?.attempts.slice(0, attempts.length)).toEqual(attempts);
    }
  }

  /** Everything that is open ends: nothing is counted any more. */
  async comesToRest(): Promise<void> {
    const past = `clock_timestamp() - interval '1 minute'`;
    await this.#db.rows(`update waybill.route_attempts set deadline_at = ${past}`);
    const { fleet } = this.#rig.registry;
    while ((await fleet.sweep(5)).settled > 0);
    expect(await fleet.status()).toMatchObject({ openAttempts: 0, activeAssignments: 0 });
    expect(await this.#rig.fixture.held()).toEqual({});
    expect(await imbalance(this.#db)).toEqual([]);
  }

  async close(): Promise<void> {
    await this.#data.close();
    await this.#db.drop();
  }

  async #prepare(): Promise<void> {
    const limits =
      '{ binding: 3, instance: 4, connector: 5, tenantRetry: 2, tenant: 4, global: 6 }';
    await this.#apply(
      ...[documents.capability(), documents.tracker(), documents.quotaPolicy(`limits: ${limits}`)],
      'kind: Settings\ncircuitUnknowns: 2\ncircuitOpen: 30s\ncircuitProbes: 1\n',
      ...TENANTS.flatMap((tenant) => [
        documents.account(`tenant: ${tenant}`),
        documents.binding(`tenant: ${tenant}`, 'quotaPolicy: small'),
      ]),
      ...HOSTS.map((id) =>
        documents.replica(`id: ${id}`, `tenant: ${tenantOf(id)}`, `capacity: ${CAPACITY}`),
      ),
    );
    await forbidOverbooking(this.#db);
    for (const host of HOSTS) {
      await this.#rig.call(host, 'register');
      await this.#rig.call(host, 'heartbeat');
    }
    for (const tenant of TENANTS) {
      for (const action of ACTIONS) await this.#rig.start(action, tenant);
    }
  }

  async #take(step: Step, fences: Fences): Promise<unknown> {
    switch (step.do) {
      case 'reserve':
        return this.#reserve(step, fences);
      case 'settle':
        return this.#settle(step, fences);
      case 'extend':
        return this.#resolver.extendReservation(atOf(step, fences), HOLD_MS);
      case 'clearUp':
        return this.#clearUp(atOf(step, fences));
      case 'move':
        return this.#move(atOf(step, fences));
      case 'age':
        return this.#db.rows(
          `update waybill.route_attempts set deadline_at = clock_timestamp()
            where tenant_id = $1 and action_id = $2 and settled_at is null`,
          [step.tenant, step.action],
        );
      case 'host':
        return this.#host(step);
      case 'sweep':
        return this.#rig.registry.fleet.sweep(5);
      case 'publish':
        return this.#publish(step.what);
    }
  }

  async #reserve({ tenant, action, number }: Of<'reserve'>, fences: Fences): Promise<void> {
    const known = fences.get(keyOf({ tenant, action }))?.attempts.length ?? 0;
    const answer = await this.#resolver.reserveRoute(
      this.#rig.request(action, {
        ...{ tenantId: tenantId(tenant), holdMs: HOLD_MS },
        attemptNo: number === 'next' ? known + 1 : Math.max(1, known),
        ...(number === 'foreign' ? { owner: 'somebody else' } : {}),
      }),
    );
    if (answer.kind !== 'reserved') return;
    expect(answer.route).toMatchObject({ tenantId: tenant, instanceId: 'main' });
    expect(tenantOf(answer.route.replicaId)).toBe(tenant);
    const { attemptNo, fence } = answer.reservation;
    const rows = await this.#db.rows<{ fence: string }>(
      `select fence from waybill.route_attempts
        where tenant_id = $1 and action_id = $2 and attempt_no = $3`,
      [tenant, action, attemptNo],
    );
    expect(rows.map((row) => Number(row.fence))).toEqual([fence]);
  }

  async #settle(step: Of<'settle'>, fences: Fences): Promise<void> {
    const settle = () =>
      this.#resolver.settleRoute({
        ...{ ...atOf(step, fences), settlement: step.settlement, evidence: {} },
        unknownCause: step.settlement === 'outcome_unknown' ? 'host' : null,
      });
    const answers = await Promise.all(step.twice ? [settle(), settle()] : [settle()]);
    const settled = answers.filter(({ kind }) => kind === 'settled');
    expect(settled.length).toBeLessThanOrEqual(1);
  }

  async #clearUp(at: ReturnType<typeof atOf>): Promise<void> {
    const move = { ...at, reason: null, waiting: false, result: null };
    const { ledger } = this.#rig.registry;
    await ledger.moveAction({ ...move, from: ['unknown'], to: 'reconciling' });
    await ledger.moveAction({ ...move, from: ['reconciling'], to: 'requested' });
  }

  async #move(at: ReturnType<typeof atOf>): Promise<void> {
    const { operator } = this.#rig.registry;
    const begun = await operator.beginRepin(at, null);
    if (begun.kind !== 'seal') return;
    await operator.concludeRepin({ ...at, fence: begun.fence }, { by: 'ada', reason: 'test' }, {});
  }

  async #host({ host, what }: Of<'host'>): Promise<unknown> {
    if (what !== 'silent') return this.#rig.call(host, what);
    return this.#db.rows(
      'update waybill.replicas set lease_ends_at = clock_timestamp() where replica_id = $1',
      [host],
    );
  }

  async #publish(what: Publication): Promise<void> {
    if ('limits' in what) {
      return this.#apply(documents.quotaPolicy(`limits: ${JSON.stringify(what.limits)}`));
    }
    const tenant = `tenant: ${what.tenant}`;
    if ('credential' in what) {
      const state = `credentials: [{ revision: r1, status: ${what.credential} }]`;
      return this.#apply(documents.account(tenant, state));
    }
    this.#policy += 1;
    const changes = [`enabled: ${what.bound}`, `policyRevision: ${this.#policy}`];
    return this.#apply(documents.binding(tenant, 'quotaPolicy: small', ...changes));
  }

  /** Two of one round may come in the wrong order: then the older one is refused, which is right. */
  async #apply(...texts: readonly string[]): Promise<void> {
    const fleet = readFleet(documents.fleetOf(...texts), new Map());
    try {
      await publishFleet(this.#db.as('waybill_control'), fleet, 'ada');
    } catch (error) {
      if (!(error instanceof WaybillError && REFUSED.includes(error.code))) throw error;
    }
  }

  async #fences(): Promise<Fences> {
    const rows = await this.#db.rows<{ key: string; attempts: string[]; top: string }>(
      `select r.tenant_id || '/' || r.action_id as key, r.fence as top,
          array(select t.fence from waybill.route_attempts t where t.tenant_id = r.tenant_id
            and t.action_id = r.action_id order by t.attempt_no) as attempts
        from waybill.routes r`,
    );
    const numbers = rows.map(({ key, attempts, top }) => {
      return [key, { attempts: attempts.map(Number), top: Number(top) }] as const;
    });
    return new Map(numbers);
  }
}

const tenantOf = (host: string) => host.split('-')[0] ?? '';
const keyOf = ({ tenant, action }: { readonly tenant: string; readonly action: string }) =>
  `${tenant}/${action}`;

/** The attempt that a step is about; one that never was where there is none. */
function atOf(
  step: { readonly tenant: string; readonly action: string; readonly which?: 'newest' | 'older' },
  fences: Fences,
) {
  const attempts = fences.get(keyOf(step))?.attempts ?? [];
  const fence = attempts.at(step.which === 'older' ? -2 : -1) ?? 1;
  return { tenantId: tenantId(step.tenant), actionId: step.action, fence };
}
