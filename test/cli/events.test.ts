/** `waybill events`. Real: the command's process, socket, server, Postgres. */
import { createInterface } from 'node:readline';
import { sequenceEvents } from '../../src/db/events';
import { EVENT_TOPICS } from '../../src/domain/events';
import { EventPage, EventSinkPage } from '../../src/schemas/api-events';
import { Harness } from '../http/harness';
import { ageEvents, tell } from '../support/outbox';
import {
  environmentOf,
  failureOf,
  finished,
  removeHomes,
  startWaybill,
  waybill,
  type Environment,
} from './waybill';

let h: Harness;
let env: Environment;
beforeAll(async () => {
  h = await Harness.start();
  env = await environmentOf(h, 'factory.events.read');
  const topic = EVENT_TOPICS.DeliveryFailed;
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/d1' });
  await tell(h.db, { tenant: 'acme', aggregate: 'delivery/d1', sequence: 2, topic });
  await h.db.rows(`update waybill.outbox_events set payload = payload || '{"reason": "timed_out"}'
    where aggregate_seq = 2`);
  await sequence();
  await h.db.rows(
    `insert into waybill.event_sinks (tenant_id, sink_id, url, timeout_ms, topics, secret_refs, state,
        pause_reason, passed)
      values ('acme', 'audit', 'https://a.test/', 1000, '{*}', '{env:X}', 'paused', 'target_gone', 1)`,
  );
});
afterAll(async () => {
  await h.stop();
  removeHomes();
});

const sequence = () => sequenceEvents(h.db.as('waybill_operations'), 100);

test('events list is a table or JSON, by type and page by page', async () => {
  const { stdout } = await waybill(['events', 'list'], env);
  expect(stdout).toMatch(/^TIME +EVENT +SUBJECT +NO +SAYS$/m);
  expect(stdout).toMatch(/^\S+Z +DeliveryFailed +delivery\/d1 +2 +reason=timed_out$/m);
  const first = await waybill(['events', 'list', '--limit', '1'], env);
  expect(first.stdout).toContain('DeliveryReceived');
  const place = /--after (\S+)$/m.exec(first.stdout)?.[1] ?? '';
  const args = ['events', 'list', '--after', place, '--type', 'DeliveryFailed', '--json'];
  const page = EventPage.parse(JSON.parse((await waybill(args, env)).stdout));
  expect(page.events.map(({ id }) => id)).toEqual(['acme/delivery/d1/2']);
  const none = await waybill(['events', 'list', '--type', 'DeliveryReplayed'], env);
  expect(none.stdout).toBe('no event here\n');
});

test('events follow prints what comes, until it is told to end', async () => {
  const child = startWaybill(['events', 'follow'], env);
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const line = new Promise<string>((resolve) => lines.once('line', resolve));
  // It says nothing of its place: what is told again and again comes at last.
  const telling = (async () => {
    for (
      let sequenceNo = 1;
      child.exitCode === null && child.signalCode === null;
      sequenceNo += 1
    ) {
      await tell(h.db, { tenant: 'acme', aggregate: 'delivery/new', sequence: sequenceNo });
      await sequence();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  expect(await line).toMatch(/^\S+Z {2}DeliveryReceived {2}delivery\/new$/);
  child.kill('SIGINT');
  await Promise.all([telling, new Promise((resolve) => child.once('close', resolve))]);
  expect(child.exitCode).toBe(0);
});

test('a place behind which events have gone is a failure with its code', async () => {
  const first = await waybill(['events', 'list', '--limit', '1', '--json'], env);
  const { next } = EventPage.parse(JSON.parse(first.stdout));
  await ageEvents(h.db, 31, 2);
  await h.db.rows('select waybill.forget_events(10)');
  const child = startWaybill(['events', 'follow', '--after', next], env);
  expect(failureOf(await finished(child)).code).toBe('events_forgotten');
});

test('events sinks says which is stuck, and why', async () => {
  const { stdout } = await waybill(['events', 'sinks'], env);
  expect(stdout).toMatch(/^SINK +STATE +BEHIND +OLDEST +PARKED +MISSED +NEXT TRY +WHY$/m);
  expect(stdout).toMatch(/^audit +paused +\d+ .* target_gone$/m);
  const json = await waybill(['events', 'sinks', '--json'], env);
  expect(EventSinkPage.parse(JSON.parse(json.stdout)).sinks).toHaveLength(1);
});
