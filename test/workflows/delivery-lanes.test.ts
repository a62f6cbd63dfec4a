/**
 * What the loop of the express lane drives beside workflows: targets that are no HTTP, and a subscription
 * that changes its lane again and again while its deliveries are under way, are asked for by both drivers and
 * are replayed. Real: Temporal server, Postgres, HTTP target. Doubled: the worker of a workflow target.
 * Verdict: what was sent against attempts, receipts and events of each.
 */
import { randomUUID } from 'node:crypto';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { DeliveryRef } from '../../src/domain/delivery-activities';
import { LANES, type Lane } from '../../src/domain/lanes';
import { decideReplay } from '../../src/services/replays';
import { publicKeySet } from '../../src/signing/keys';
import { verifyReceiptChain } from '../../src/signing/receipts/verify-chain';
import type { CatalogFixture } from '../support/catalog-fixture';
import { DeliveryRig } from '../support/delivery-rig';

const WHO = { replayedBy: 'ada', reason: 'target repaired' };

interface Course {
  /** What the target answers to its attempts, one after the other; `lost`: it closes the connection. */
  readonly says: readonly (number | 'lost')[];
  /** Attempts of each series. */
  readonly series: readonly number[];
  /** Its workflow is started at once, whichever its lane is. */
  readonly asked?: boolean;
}
const COURSES: readonly Course[] = [
  { says: [200], series: [1] },
  { says: [200], series: [1], asked: true },
  { says: [503, 200], series: [2] },
  { says: ['lost', 200], series: [2] },
  { says: [404, 200], series: [1, 1], asked: true },
  { says: [503, 503, 503, 404, 200], series: [3, 1, 1] },
];
/** Of each course, in turns of the lanes. */
const ROUNDS = 4;

interface Accepted {
  readonly ref: DeliveryRef;
  readonly course: Course;
  readonly lane: Lane;
}

let rig: DeliveryRig;
let fixture: CatalogFixture;
beforeAll(async () => {
  rig = await DeliveryRig.start();
  fixture = await rig.catalog();
  rig.receiver.decide = ({ body, headers }) => {
    const says = JSON.parse(body.toString()) as Course['says'];
    const said = says[Number(headers['waybill-attempt']) - 1] ?? 500;
    return said === 'lost' ? 'reset' : { status: said };
  };
  await rig.work();
});
afterAll(() => rig.stop());

const switchLane = (lane: Lane) =>
  rig.db.rows('update waybill.subscriptions set lane = $1 where subscription_id = $2', [
    ...[lane, fixture.subscription],
  ]);

async function accept(course: Course, lane: Lane): Promise<Accepted> {
  const ref = await rig.accept(fixture, JSON.stringify(course.says));
  if (lane === 'durable' || course.asked === true) await rig.start(ref, fixture);
  return { ref, course, lane };
}

/** Replays it as often as it has a series. */
async function seeThrough({ ref, course }: Accepted): Promise<void> {
  for (const series of course.series.keys()) {
    if (series > 0) {
      await rig.reaches(ref, 'Failed');
      await decideReplay(rig.services, ref, WHO);
      const { connector: connectorId, subscription: subscriptionId } = fixture;
      await rig.workflows().nudge(ref, { connectorId, eventType: 'push', subscriptionId });
    }
  }
  await rig.reaches(ref, 'Acknowledged');
}

async function expectExactLedger({ ref, course, lane }: Accepted): Promise<void> {
  const [row] = await rig.db.rows(
    `select lane, attempts, series from waybill.deliveries where delivery_id = $1`,
    [ref.deliveryId],
  );
  const attempts = course.says.length;
  expect(row).toEqual({ lane, attempts, series: course.series.length });
  // Each attempt is one call, and none began before the one before had ended.
  const numbers = course.says.map((_, at) => at + 1);
  const sent = rig.receiver.of(ref.deliveryId).map(({ headers }) => headers['waybill-attempt']);
  expect(sent).toEqual(numbers.map(String));
  const opened = await rig.db.rows(
    `select attempt_no as no, outcome, closed_at is not null as closed,
        coalesce(opened_at >= lag(closed_at) over (order by attempt_no), true) as apart
      from waybill.delivery_attempts where delivery_id = $1 order by attempt_no`,
    [ref.deliveryId],
  );
  const outcome = (said: number | 'lost') =>
    said === 'lost' ? 'unknown' : said === 200 ? 'acknowledged' : 'refused';
  expect(opened).toEqual(
    course.says.map((said, at) => ({
      no: at + 1,
      outcome: outcome(said),
      closed: true,
      apart: true,
    })),
  );
  const replays = course.series.slice(1).flatMap(() => ['delivery-failed', 'delivery-replayed']);
  expect(await rig.events(ref)).toEqual(['delivery-received', ...replays, 'delivery-dispatched']);
  const receipts = await rig.receipts(ref);
  expect(receipts).toHaveLength(replays.length + 1);
  const jwks = publicKeySet([rig.services.signingKey]);
  expect(await verifyReceiptChain(receipts, jwks)).toMatchObject({ ok: true });
}

test('whatever is under way while the lane changes ends as it began, each attempt made once', async () => {
  const accepted: Accepted[] = [];
  const ends: Promise<void>[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const lane = LANES[round % LANES.length] ?? 'durable';
    await switchLane(lane);
    const some = await Promise.all(COURSES.map((course) => accept(course, lane)));
    accepted.push(...some);
    ends.push(...some.map(seeThrough));
  }
  await Promise.all(ends);
  for (const one of accepted) await expectExactLedger(one);
});

test('the loop reaches targets that are an event or a workflow, and needs no workflow for that', async () => {
  const theirs = { taskQueue: `their-queue-${randomUUID()}`, workflowType: 'triage' };
  await rig.db.rows(`update waybill.settings set workflow_targets = $1`, [
    JSON.stringify([{ ...theirs, tenants: null }]),
  ]);
  const targets = [
    { kind: 'event', config: { timeoutMs: 10_000 } },
    { kind: 'workflow', config: { ...theirs, signal: null, timeoutMs: 5_000 } },
  ] as const;
  for (const target of targets) {
    const { kind } = target;
    const subscribed = await rig.catalog({ lane: 'express', subscription: kind, target });
    const ref = await rig.deliver(subscribed);
    expect(await rig.reaches(ref, 'Acknowledged')).toMatchObject({ attempts: 1, receipt_seq: 1 });
    expect(await rig.events(ref)).toEqual(['delivery-received', 'delivery-dispatched']);
    await expect(rig.handle(ref).describe()).rejects.toThrow(WorkflowNotFoundError);
    if (kind === 'workflow') {
      const started = rig.client.workflow.getHandle(`acme/${ref.deliveryId}`);
      expect(await started.describe()).toMatchObject({ type: 'triage' });
    }
  }
});
