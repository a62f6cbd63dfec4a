/**
 * Random courses of claims, workflows that ask, closings, leases that end, pauses, replays and switched lanes
 * against a small model of who drives a delivery, in a real Postgres. After every step each row is what the
 * model says, and at most one attempt of a delivery is open. Targets are not called: outcomes are given.
 */
import fc from 'fast-check';
import { claimExpress } from '../../src/db/express-deliveries';
import { closeAttempt, openAttempt, replayDelivery } from '../../src/db/deliveries';
import { switchTarget } from '../../src/db/target-flow';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { tenantId } from '../../src/domain/ids';
import type { ReceiptRow } from '../../src/domain/receipts';
import { insertCatalog, type CatalogFixture } from '../support/catalog-fixture';
import { ACKNOWLEDGED, receipt, receive, REFUSED, retryIn } from '../support/stored-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

interface Modelled {
  readonly ref: DeliveryRef;
  readonly lane: string;
  driver: string;
  state: string;
  attempts: number;
  series: number;
  unshown: boolean;
  open: { late: boolean } | null;
  head: ReceiptRow | null;
}

interface Aimed {
  readonly do: 'ask' | 'acknowledge' | 'retry' | 'fail' | 'lease over' | 'replay';
  /** Which delivery. */
  readonly at: number;
}
type Step =
  | { readonly do: 'accept' | 'switch lane' | 'switch pause' }
  | { readonly do: 'claim'; readonly limit: number }
  | Aimed;

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Step>({ do: 'accept' }) },
  fc.constantFrom<Step>({ do: 'switch lane' }, { do: 'switch pause' }),
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('claim' as const),
      limit: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('ask', 'acknowledge', 'retry', 'fail', 'lease over', 'replay'),
      at: fc.nat(5),
    }),
  },
);

class Course {
  readonly #fixture: CatalogFixture;
  readonly #all: Modelled[] = [];
  #lane = 'express';
  #isPaused = false;

  constructor(fixture: CatalogFixture) {
    this.#fixture = fixture;
  }

  async take(given: Step): Promise<void> {
    if (given.do === 'accept') await this.#accept();
    else if (given.do === 'switch lane') await this.#switchLane();
    else if (given.do === 'switch pause') await this.#switchPause();
    else if ('limit' in given) await this.#claim(given.limit);
    else if ('at' in given) {
      const one = this.#all[given.at];
      if (one !== undefined) await this.#about(one, given.do);
    }
    await this.#compare();
  }

  async #about(one: Modelled, what: Aimed['do']): Promise<void> {
    if (what === 'ask') await this.#ask(one);
    else if (what === 'lease over') await this.#leaseOver(one);
    else if (what === 'replay') await this.#replay(one);
    else await this.#close(one, what);
  }

  async #accept(): Promise<void> {
    const ref = await receive(db, this.#fixture);
    const driver = this.#lane === 'express' ? 'loop' : 'workflow';
    const fresh = { state: 'Received', attempts: 0, series: 1, unshown: false } as const;
    this.#all.push({ ref, lane: this.#lane, driver, ...fresh, open: null, head: null });
  }

  async #switchLane(): Promise<void> {
    this.#lane = this.#lane === 'express' ? 'durable' : 'express';
    await db.rows(`update waybill.subscriptions set lane = $2 where tenant_id = $1`, [
      ...[this.#fixture.tenant, this.#lane],
    ]);
  }

  async #switchPause(): Promise<void> {
    this.#isPaused = !this.#isPaused;
    const at = {
      tenantId: tenantId(this.#fixture.tenant),
      id: `${this.#fixture.subscription}-target`,
    };
    const who = { actor: 'ada', reason: 'maintenance' };
    await switchTarget(db.as('waybill_data'), { ...at, pause: this.#isPaused, ...who });
    // As the loop that releases what waited.
    await db.rows(
      `update waybill.deliveries set gate = null, gated_at = null, reason = 'released'
        where tenant_id = $1 and gate is not null`,
      [this.#fixture.tenant],
    );
  }

  async #claim(limit: number): Promise<void> {
    const waiting = this.#all.filter((one) => one.driver === 'loop' && one.state === 'Received');
    const expected = waiting.slice(0, limit);
    const tenant = tenantId(this.#fixture.tenant);
    const claimed = await claimExpress(db.as('waybill_data'), tenant, {
      ...{ owner: 'loop', limit },
      onBroken: () => undefined,
    });
    expect(claimed.map(({ ref }) => ref)).toEqual(expected.map(({ ref }) => ref));
    for (const [at, one] of expected.entries()) {
      expect(claimed[at]?.opened.answer).toBe(this.#isPaused ? 'held' : 'opened');
      this.#opens(one, 'loop');
    }
  }

  /** What asking makes of one without an open attempt. */
  #opens(one: Modelled, by: string): void {
    if (this.#isPaused || by === 'workflow') one.driver = 'workflow';
    if (this.#isPaused) {
      if (one.state === 'Received') one.state = 'Verified';
      return;
    }
    one.state = 'Dispatched';
    one.attempts += 1;
    one.open = { late: false };
  }

  async #ask(one: Modelled): Promise<void> {
    const asked = await openAttempt(db.as('waybill_data'), one.ref, 'workflow');
    if (one.state === 'Acknowledged' || one.state === 'Failed') {
      expect(asked.answer).toBe('settled');
      one.unshown = false;
    } else if (one.open !== null) {
      if (one.open.late) one.driver = 'workflow';
      expect(asked).toMatchObject({ answer: 'in_flight', info: { driver: one.driver } });
    } else {
      expect(asked.answer).toBe(this.#isPaused ? 'held' : 'opened');
      this.#opens(one, 'workflow');
    }
  }

  async #close(one: Modelled, how: 'acknowledge' | 'retry' | 'fail'): Promise<void> {
    if (one.open === null) return;
    const close = { acknowledge: ACKNOWLEDGED, retry: retryIn(0), fail: REFUSED }[how];
    const signed =
      how === 'retry' ? null : receipt(how === 'fail' ? 'failed' : 'acknowledged', one.head);
    const at = { ...one.ref, attempt: one.attempts };
    const answer = await closeAttempt(db.as('waybill_data'), at, close, signed);
    expect(answer).toEqual({ answer: 'closed' });
    one.open = null;
    if (signed !== null) one.head = signed;
    if (how === 'acknowledge') one.state = 'Acknowledged';
    if (how === 'acknowledge') return;
    if (how === 'fail') one.state = 'Failed';
    if (how === 'fail') one.unshown = one.driver === 'loop';
    one.driver = 'workflow';
  }

  async #leaseOver(one: Modelled): Promise<void> {
    if (one.open === null) return;
    one.open.late = true;
    await db.rows(
      `update waybill.delivery_attempts set deadline_at = clock_timestamp()
        where delivery_id = $1 and closed_at is null`,
      [one.ref.deliveryId],
    );
  }

  async #replay(one: Modelled): Promise<void> {
    const signed = receipt('replayed', one.head);
    const who = { replayedBy: 'ada', reason: 'repaired' };
    const { answer } = await replayDelivery(db.as('waybill_data'), one.ref, who, signed);
    expect(answer === 'replayed').toBe(one.state === 'Failed');
    if (answer !== 'replayed') return;
    Object.assign(one, { state: 'Replayed', series: one.series + 1, unshown: false, head: signed });
  }

  async #compare(): Promise<void> {
    const rows = await db.rows(
      `select delivery_id as id, lane, driver, state, attempts, series, show_at is not null as unshown,
          (select count(*)::integer from waybill.delivery_attempts a
            where a.delivery_id = d.delivery_id and a.closed_at is null) as open
        from waybill.deliveries d where tenant_id = $1 order by received_at`,
      [this.#fixture.tenant],
    );
    expect(rows).toEqual(
      this.#all.map(({ ref, lane, driver, state, attempts, series, unshown, open }) => {
        const shown = { id: ref.deliveryId, lane, driver, state, attempts, series, unshown };
        return { ...shown, open: open === null ? 0 : 1 };
      }),
    );
  }
}

test('whatever happens in whatever order, a delivery has one driver and one open attempt at most', async () => {
  let courses = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async (steps) => {
      courses += 1;
      const named = { tenant: `model-${courses}`, subscription: 'quick' };
      const course = new Course(await insertCatalog(db, { ...named, lane: 'express' }));
      for (const given of steps) await course.take(given);
    }),
    { numRuns: 40 },
  );
});
