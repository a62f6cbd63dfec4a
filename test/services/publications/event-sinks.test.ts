/** Sinks as a fleet file says them: published, exported, changed, and refused. A real Postgres. */
import { sequenceEvents } from '../../../src/db/events';
import { loadShippedSchemes } from '../../../src/schemas/shipped-schemes';
import { exportFleet } from '../../../src/services/publications/exporting';
import { placesOf, tell } from '../../support/outbox';
import { publishing } from '../../support/publishing';

const { db, apply, refusal } = publishing();

const ALLOWED =
  'kind: Settings\ntargetAddresses: { http: true, ports: [80, 443], allow: [] }\n---\n';

const sink = (more = '') =>
  `kind: EventSink\ntenant: acme\nid: audit\nurl: https://audit.example.test/events\n` +
  `secretRefs: [env:AUDIT_SECRET]\n${more}`;

async function row(): Promise<Record<string, unknown>> {
  const rows = await db().rows<Record<string, unknown>>(
    `select url, topics, state, pause_reason, passed, failures, reason
      from waybill.event_sinks`,
  );
  return rows[0] ?? {};
}

test('a new sink begins at the feed’s end, with every type', async () => {
  await tell(db(), { tenant: 'acme', aggregate: 'delivery/before' });
  await sequenceEvents(db().as('waybill_operations'), 10);
  const { changes } = await apply(sink());
  expect(changes).toMatchObject([
    { kind: 'EventSink', id: 'audit', tenant: 'acme', action: 'create' },
  ]);
  const [end] = await placesOf(db());
  expect(await row()).toMatchObject({ topics: ['*'], state: 'active', passed: String(end) });
  expect((await apply(sink())).changed).toBe(false);
});

test('a change keeps its place and is a reason to try at once', async () => {
  await apply(sink());
  await db().rows(
    `update waybill.event_sinks set passed = 7, failures = 3, reason = 'timed_out',
      next_attempt_at = now() + interval '5 minutes'`,
  );
  await apply(sink('types: [connectors.deliveries.v1.delivery-failed]\n'));
  expect(await row()).toMatchObject({
    ...{ topics: ['connectors.deliveries.v1.delivery-failed'], passed: '7' },
    ...{ failures: 0, reason: null, state: 'active' },
  });
});

test('a sink that Waybill has paused stays so, until a fleet says active', async () => {
  await apply(sink());
  await db().rows(`update waybill.event_sinks set state = 'paused', pause_reason = 'target_gone'`);
  await apply(sink('timeout: 5s\n'));
  expect(await row()).toMatchObject({ state: 'paused', pause_reason: 'target_gone' });
  await apply(sink('timeout: 5s\nstate: active\n'));
  expect(await row()).toMatchObject({ state: 'active', pause_reason: null });
});

test('an export publishes the same again, with settings', async () => {
  await apply(`kind: Settings\neventRetentionDays: 3\neventHoldDays: 9\n---\n${sink()}`);
  const control = db().as('waybill_control');
  const text = await exportFleet(control, null, loadShippedSchemes());
  expect(text).toContain('kind: EventSink');
  expect(text).toContain('eventHoldDays: 9');
  expect((await apply(text)).changed).toBe(false);
});

test('mistakes are told by field', async () => {
  const wrong = sink('types: ["*", connectors.deliveries.v1.delivery-failed]\n');
  expect(await refusal(wrong)).toEqual([
    "EventSink acme/audit types: '*' already takes every type",
  ]);
  expect(await refusal(sink().replace('[env:AUDIT_SECRET]', '[]'))).toEqual([
    'EventSink acme/audit secretRefs: is empty; events are always signed',
  ]);
  expect(await refusal(sink('types: [push]\n'))).toEqual([
    expect.stringMatching(/^EventSink acme\/audit types\[0\]: .*must be one of/),
  ]);
  expect(await refusal(ALLOWED + sink().replace('audit.example.test', '10.0.0.1'))).toEqual([
    expect.stringMatching(/^EventSink acme\/audit url: must not be called: /),
  ]);
  expect(await refusal(`${sink()}---\n${sink()}`)).toEqual([
    expect.stringMatching(/^EventSink acme\/audit id: is taken by EventSink acme\/audit/),
  ]);
});
