/**
 * Figures of the whole deployment from a real Postgres, read as waybill_operations by several
 * reporters, each with a registry of its own. Verdicts come from the exposition text.
 */
import { leaveReporting, readDeploymentFigures } from '../../src/db/deployment-figures';
import type { Database } from '../../src/db/database';
import { openAttempt } from '../../src/db/deliveries';
import { LANES } from '../../src/domain/lanes';
import type { Telemetry } from '../../src/telemetry/telemetry';
import { createTelemetry } from '../../src/telemetry/telemetry';
import { reportRound } from '../../src/workers/loops/report-figures';
import { sequenceEvents } from '../../src/db/events';
import { placesOf, tell } from '../support/outbox';
import { DeliveryRig } from '../support/delivery-rig';

let rig: DeliveryRig;
let operations: Database;
let telemetry: Telemetry;

beforeAll(async () => {
  rig = await DeliveryRig.start();
  operations = rig.db.as('waybill_operations');
  await rig.catalog();
  await rig.catalog({ subscription: 'issues' });
  await rig.catalog({ tenant: 'globex', subscription: 'pushes' });
  await rig.catalog({ tenant: 'globex', subscription: 'paused' });
  await rig.db.rows(
    `update waybill.subscriptions set state = 'paused' where subscription_id = 'paused'`,
  );
  await rig.db.rows(
    `insert into waybill.connector_versions (connector_id, version, status, content_digest)
      values ('github', '2.0.0', 'draft', repeat('0', 64))`,
  );
});
afterAll(async () => {
  await rig.stop();
});
beforeEach(async () => {
  telemetry = createTelemetry({ service: 'waybill-test' });
  await rig.db.rows(`update waybill.figures_reporter set reporter = null, lease_ends_at = null`);
});

const read = (reporter: string, maxLabelSets = 10) =>
  readDeploymentFigures(operations, { reporter, leaseMs: 60_000, maxLabelSets });

test('connector versions are counted by state, active subscriptions by tenant', async () => {
  await reportRound(operations, telemetry, 'one');
  const text = await telemetry.text();
  const lines = text.split('\n').filter((line) => /_(connectors|subscriptions)\{/.test(line));
  expect(lines).toEqual([
    'connectsoft_factory_integration_connectors{provider="github",state="active"} 1',
    'connectsoft_factory_integration_connectors{provider="github",state="draft"} 1',
    'connectsoft_factory_integration_subscriptions{tenant="acme",connector="github"} 2',
    'connectsoft_factory_integration_subscriptions{tenant="globex",connector="github"} 1',
  ]);
});

test('one process reports; another one has nothing to say until that one leaves', async () => {
  const other = createTelemetry({ service: 'waybill-test' });
  await reportRound(operations, telemetry, 'one');
  await reportRound(operations, other, 'other');
  await reportRound(operations, telemetry, 'one');
  expect(await telemetry.text()).toContain('integration_connectors{');
  expect(await other.text()).not.toContain('integration_connectors');
  await leaveReporting(operations, 'other');
  expect(await read('other')).toBeNull();
  await leaveReporting(operations, 'one');
  await reportRound(operations, other, 'other');
  await reportRound(operations, telemetry, 'one');
  expect(await other.text()).toContain('integration_connectors{');
  expect(await telemetry.text()).not.toContain('integration_connectors');
});

test('the reporting of a process that died passes on once its lease is over', async () => {
  await read('dead');
  expect(await read('next')).toBeNull();
  await rig.db.rows(`update waybill.figures_reporter set lease_ends_at = clock_timestamp()`);
  expect(await read('next')).not.toBeNull();
  expect(await read('dead')).toBeNull();
});

test('of many processes that begin at once exactly one reports', async () => {
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((reporter) => read(reporter)));
  expect(answers.filter((answer) => answer !== null)).toHaveLength(1);
});

test('what is beyond the bound on labels is counted as other, the largest first', async () => {
  const figures = await read('one', 1);
  expect(figures?.subscriptions).toEqual([
    { tenant: 'acme', connector: 'github', count: 2 },
    { tenant: 'other', connector: 'other', count: 1 },
  ]);
  expect(figures?.connectors).toEqual([
    { provider: 'github', state: 'active', count: 1 },
    { provider: 'other', state: 'draft', count: 1 },
  ]);
});

test.each(LANES)(
  'in the lane %s the queue is young while nothing is overdue, and as old as what is most overdue',
  async (lane) => {
    expect((await read('one'))?.backlog).toEqual({ queueAgeS: 0, openAttempts: 0 });
    const fixture = await rig.catalog({ lane, tenant: `initech-${lane}` });
    const refs = [await rig.accept(fixture), await rig.accept(fixture)];
    expect((await read('one'))?.backlog.queueAgeS).toBe(0);
    for (const [at, ref] of refs.entries()) {
      await rig.db.rows(
        `update waybill.deliveries set attend_at = clock_timestamp() - make_interval(mins => $2)
        where delivery_id = $1`,
        [ref.deliveryId, refs.length - at],
      );
    }
    await reportRound(operations, telemetry, 'one');
    const text = await telemetry.text();
    const age = Number(/^waybill_queue_age ([\d.]+)$/m.exec(text)?.[1]);
    expect(age).toBeGreaterThanOrEqual(120);
    expect(age).toBeLessThan(180);
    await rig.db.rows(
      `update waybill.deliveries set attend_at = clock_timestamp() + interval '1 hour'`,
    );
  },
);

test('breakers that are not closed, and what is paused, are counted by tenant', async () => {
  await rig.catalog({ tenant: 'hooli', subscription: 'a' });
  await rig.catalog({ tenant: 'hooli', subscription: 'b' });
  await rig.catalog({ tenant: 'hooli', subscription: 'c' });
  await rig.db.rows(
    `insert into waybill.target_states (tenant_id, target_id, breaker, open_until, probe_until,
        paused_at, paused_by, pause_reason) values
      ('hooli', 'a-target', 'open', clock_timestamp(), null, null, null, null),
      ('hooli', 'b-target', 'half_open', clock_timestamp(), clock_timestamp(), now(), 'ada', 'x'),
      ('hooli', 'c-target', 'closed', null, null, null, null, null)`,
  );
  await reportRound(operations, telemetry, 'one');
  const text = await telemetry.text();
  expect(text.split('\n').filter((line) => /^waybill_(targets|subscriptions)_/.test(line))).toEqual(
    [
      'waybill_targets_held{tenant="hooli",why="breaker_half_open"} 1',
      'waybill_targets_held{tenant="hooli",why="breaker_open"} 1',
      'waybill_targets_held{tenant="hooli",why="paused"} 1',
      'waybill_subscriptions_paused{tenant="globex",why="paused"} 1',
    ],
  );
  expect((await read('one', 1))?.held).toEqual([
    { what: 'subscription', tenant: 'globex', why: 'paused', count: 1 },
    { what: 'target', tenant: 'hooli', why: 'breaker_half_open', count: 1 },
    { what: 'target', tenant: 'other', why: 'breaker_open', count: 1 },
    { what: 'target', tenant: 'other', why: 'paused', count: 1 },
  ]);
});

test('an attempt counts as open until it is closed, also without its worker', async () => {
  const fixture = await rig.catalog({ tenant: 'umbrella' });
  await openAttempt(rig.services.data, await rig.accept(fixture), 'a worker that died');
  await reportRound(operations, telemetry, 'one');
  expect(await telemetry.text()).toContain('waybill_open_attempts 1\n');
});

test('of each sink the age of what it has not taken, since when it fails, and what it refuses', async () => {
  const { db } = rig;
  await rig.db.rows('delete from waybill.outbox_events');
  await tell(db, { tenant: 'acme', aggregate: 'delivery/1' });
  await tell(db, { tenant: 'acme', aggregate: 'delivery/2' });
  await sequenceEvents(operations, 100);
  const [first = 0, last = 0] = await placesOf(db);
  await db.rows(
    `update waybill.outbox_events set occurred_at = now() - interval '5 minutes'
    where feed_no = $1`,
    [first],
  );
  const sinks = [
    { id: 'ahead', passed: last, state: 'active', failing: null },
    { id: 'down', passed: 0, state: 'active', failing: 200 },
    { id: 'gone', passed: 0, state: 'paused', failing: null },
    { id: 'picky', passed: last, state: 'active', failing: null },
  ];
  for (const { id, passed, state, failing } of sinks) {
    await db.rows(
      `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs,
          state, passed, failing_since)
        values ('acme', $1, 'https://sink.test/', 1000, '{*}', '{env:X}', $2, $3,
          now() - make_interval(secs => $4))`,
      [id, state, passed, failing],
    );
  }
  await db.rows(
    `insert into waybill.event_sink_parked (tenant_id, sink_id, event_tenant_id, aggregate,
        from_feed_no, next_attempt_at, reason, parked_at)
      values ('acme', 'picky', 'acme', 'delivery/1', $1, now(), 'event_refused',
        now() - interval '2 minutes')`,
    [first],
  );
  const figures = await read('one');
  const rounded = figures?.sinks.map(({ sink, state, eventAgeS, failingS, parked }) => {
    return [sink, state, Math.round(eventAgeS / 60), Math.round(failingS / 20), parked];
  });
  expect(rounded).toEqual([
    ['ahead', 'active', 0, 0, 0],
    ['down', 'active', 5, 10, 0],
    ['gone', 'paused', 5, 0, 0],
    ['picky', 'active', 2, 0, 1],
  ]);
  await reportRound(operations, telemetry, 'one');
  const text = await telemetry.text();
  expect(text).toMatch(/^waybill_sink_event_age\{tenant="acme",sink="down",state="active"\} 30\d/m);
  expect(text).toMatch(/^waybill_sink_failing\{tenant="acme",sink="ahead",state="active"\} 0$/m);
  expect(text).toMatch(
    /^waybill_sink_parked_subjects\{tenant="acme",sink="picky",state="active"\} 1$/m,
  );
  const bounded = await read('one', 1);
  expect(bounded?.sinks.map(({ tenant, sink, state }) => `${tenant}/${sink} ${state}`)).toEqual([
    ...['acme/down active', 'other/other active', 'other/other paused'],
  ]);
});

test('actions that wait for an approval are counted by tenant', async () => {
  for (const [id, tenant] of [
    ['a', 'acme'],
    ['b', 'acme'],
    ['c', 'globex'],
  ] as const) {
    await rig.db.rows(
      `insert into waybill.actions (tenant_id, action_id, capability_id, request_sha256, state,
          requested_by, retry_budget, deadline_at, attend_at)
        values ($1, $2, 'refunds.pay', sha256('x'), 'requested', 'ada', 0, now() + interval '1 h', now())`,
      [tenant, id],
    );
    const [row] = await rig.db.rows('select waybill.ask_approval($1, $2, 60000) as asked', [
      tenant,
      id,
    ]);
    expect(row).toMatchObject({ asked: { kind: 'asked' } });
  }
  await rig.db.rows(`update waybill.actions set state = 'cancelled', result_outcome = 'cancelled',
      closed_at = now(), attend_at = null, waiting_since = null where action_id = 'b'`);
  await reportRound(operations, telemetry, 'one');
  const text = await telemetry.text();
  expect(text.split('\n').filter((line) => line.startsWith('waybill_actions_held{'))).toEqual([
    'waybill_actions_held{tenant="acme",why="awaiting_approval"} 1',
    'waybill_actions_held{tenant="globex",why="awaiting_approval"} 1',
  ]);
});
