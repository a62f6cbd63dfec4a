/** One target at a time in a database of the test's own: what it is offered, and what it says of itself. */
import { closeAttempt, openAttempt, releaseGated } from '../../src/db/deliveries';
import { claimExpress } from '../../src/db/express-deliveries';
import { switchTarget } from '../../src/db/target-flow';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import type { Lane } from '../../src/domain/lanes';
import type { CatalogFixture } from './catalog-fixture';
import { insertCatalog } from './catalog-fixture';
import { ACKNOWLEDGED, open, receipt, receive, retryIn } from './stored-deliveries';
import type { TestDatabase } from './test-database';

export const ACME = tenantId('acme');
export const WHO = { actor: 'ada', reason: 'maintenance' };

export class TargetFlow {
  readonly #db: TestDatabase;
  readonly fixture: CatalogFixture;

  private constructor(db: TestDatabase, fixture: CatalogFixture) {
    this.#db = db;
    this.fixture = fixture;
  }

  /** A new target; what earlier ones left waiting is not released any more. */
  static async begin(db: TestDatabase, subscription: string): Promise<TargetFlow> {
    await db.rows('update waybill.deliveries set gate = null, gated_at = null');
    const flow = new TargetFlow(db, await insertCatalog(db, { subscription, breakerFailures: 5 }));
    await flow.forgetTurns();
    return flow;
  }

  get target(): string {
    return `${this.fixture.subscription}-target`;
  }

  async forgetTurns(): Promise<void> {
    await this.#db.rows('delete from waybill.gate_turns');
  }

  change(what: string): Promise<unknown> {
    return this.#db.rows(`update waybill.targets set ${what} where target_id = $1`, [this.target]);
  }

  receive(): Promise<DeliveryRef> {
    return receive(this.#db, this.fixture);
  }

  receives(count: number): Promise<DeliveryRef[]> {
    return Promise.all(Array.from({ length: count }, () => this.receive()));
  }

  open(ref: DeliveryRef) {
    return openAttempt(this.#db.as('waybill_data'), ref, 'worker');
  }

  /** From now on what it receives is for this lane. */
  async lane(lane: Lane): Promise<void> {
    await this.#db.rows(`update waybill.subscriptions set lane = $2 where subscription_id = $1`, [
      ...[this.fixture.subscription, lane],
    ]);
  }

  /** What the loop of the express lane claims. */
  claims(limit: number) {
    return claimExpress(this.#db.as('waybill_data'), ACME, {
      ...{ owner: 'loop', limit },
      onBroken: (id, error) => {
        throw new Error(`${id} could not be claimed: ${String(error)}`);
      },
    });
  }

  /** `opened`, or what holds it. */
  async why(ref: DeliveryRef): Promise<string> {
    const answer = await this.open(ref);
    return answer.answer === 'held' ? String(answer.info.heldBy) : answer.answer;
  }

  /** The same of each, the oldest first, by whoever makes its next move: the loop claims all of them at once. */
  async whyEach(refs: readonly DeliveryRef[], lane: Lane): Promise<string[]> {
    if (lane === 'durable') return await Promise.all(refs.map((ref) => this.why(ref)));
    const claimed = await this.claims(refs.length);
    return claimed.map(({ opened }) =>
      opened.answer === 'held' ? String(opened.info.heldBy) : opened.answer,
    );
  }

  /** Opens an attempt and answers its number. */
  async begins(ref: DeliveryRef): Promise<number> {
    return (await open(this.#db, ref)).info.attempt;
  }

  async ends(ref: DeliveryRef, attempt: number, how: 'answers' | 'fails' | 'lost'): Promise<void> {
    const lost = { ...retryIn(0), outcome: 'unknown', targetHealth: null } as const;
    const close = { answers: ACKNOWLEDGED, fails: retryIn(60_000), lost }[how];
    const signed = how === 'answers' ? receipt('acknowledged') : null;
    const data = this.#db.as('waybill_data');
    const answer = await closeAttempt(data, { ...ref, attempt }, close, signed);
    if (answer.answer !== 'closed') throw new Error(answer.answer);
  }

  async attempt(ref: DeliveryRef, how: 'answers' | 'fails'): Promise<void> {
    await this.ends(ref, await this.begins(ref), how);
  }

  async release(limit = 100): Promise<number> {
    return (await releaseGated(this.#db.as('waybill_operations'), limit)).released;
  }

  switch(pause: boolean, tenant = ACME) {
    const wish = { tenantId: tenant, id: this.target, pause, ...WHO };
    return switchTarget(this.#db.as('waybill_data'), wish);
  }

  async state() {
    const [row] = await this.#db.rows(
      `select breaker, failures, opens, paused_by, probe_delivery,
          round(extract(epoch from open_until - clock_timestamp()))::integer as opens_for
        from waybill.target_states where target_id = $1`,
      [this.target],
    );
    return row;
  }

  /** The breaker's time is over. */
  async timeOver(): Promise<void> {
    await this.#db.rows(
      `update waybill.target_states set open_until = clock_timestamp() where target_id = $1`,
      [this.target],
    );
  }

  /** Ids of deliveries that are due for attention since they were released. */
  async released(): Promise<string[]> {
    const rows = await this.#db.rows<{ id: string }>(
      `select delivery_id as id from waybill.deliveries
        where subscription_id = $1 and reason = 'released' and attend_at <= clock_timestamp()`,
      [this.fixture.subscription],
    );
    return rows.map(({ id }) => id);
  }
}
