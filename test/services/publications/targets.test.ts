/** What a Target, its addresses and its workflow may be, as the catalog and Settings say. Real Postgres. */
import { fleetOf, target } from '../../support/fleet-texts';
import { publishing } from '../../support/publishing';

const { db, apply, refusal } = publishing();

const strict = () =>
  apply(
    'kind: Settings\ntargetAddresses: { http: true, ports: [80, 443], allow: [10.1.0.0/16] }\n',
  );
const to = (url: string) => target(`http: { url: '${url}' }`);

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://[::1]/',
  'https://[::ffff:169.254.169.254]/latest',
  'http://10.2.0.1/',
])('a target at %s is refused, with the setting that could allow it', async (url) => {
  await strict();
  expect(await refusal(to(url))).toEqual([
    'Target acme/ci http.url: must not be called: its address is not public; a platform admin can allow it in targetAddresses of Settings',
  ]);
});

test('a public address is refused at a port that may not be called', async () => {
  await strict();
  const [problem] = await refusal(to('https://8.8.8.8:22/'));
  expect(problem).toContain('port 22 is not among those that may be called');
});

test('names, and what Settings of the same file allow, are published', async () => {
  await strict();
  await apply(to('http://10.1.2.3:7300/'));
  await apply(to('https://hooks.example.test/'));
  await apply(
    fleetOf(
      'kind: Settings\ntargetAddresses: { allow: [192.168.7.7] }\n',
      to('http://192.168.7.7/'),
    ),
  );
});

test('what Settings leave out of targetAddresses is as strict as it can be', async () => {
  await apply('kind: Settings\ntargetAddresses: {}\n');
  const [row] = await db().rows('select target_addresses as policy from waybill.settings');
  expect(row).toEqual({ policy: { http: false, ports: [443], allow: [] } });
});

const WORKFLOW = 'workflow: { taskQueue: theirs, type: triage }';
const workflow = (...changes: string[]) => target('http: null', WORKFLOW, ...changes);

test('a workflow is refused unless Settings allow it to this tenant', async () => {
  const problem =
    'Target acme/ci workflow.type: may not be started here; a platform admin can allow it in workflowTargets of Settings';
  expect(await refusal(workflow())).toEqual([problem]);
  const allow = (tenants: string) =>
    apply(`kind: Settings\nworkflowTargets: [{ taskQueue: theirs, type: triage${tenants} }]\n`);
  await allow(', tenants: [globex]');
  expect(await refusal(workflow())).toEqual([problem]);
  await allow('');
  await apply(workflow());
  const [other] = await refusal(
    target('http: null', 'workflow: { taskQueue: theirs, type: other }', 'id: b'),
  );
  expect(other).toContain('may not be started here');
});

test.each(['actions', 'deliveries', 'operations'])(
  "Waybill's own queue %s cannot be allowed",
  async (queue) => {
    const [problem] = await refusal(
      `kind: Settings\nworkflowTargets: [{ taskQueue: ${queue}, type: triage }]\n`,
    );
    expect(problem).toContain("are Waybill's");
  },
);

test('drain rate, room and breaker are published and changed like any field', async () => {
  const row = async () => {
    const [found] = await db().rows(
      `select drain_per_second::float8 as drains, max_in_flight as room, breaker_failures as failures,
          breaker_open_ms as open from waybill.targets`,
    );
    return found;
  };
  await apply(target());
  expect(await row()).toEqual({ drains: 10, room: 50, failures: 5, open: 30_000 });
  const changed = await apply(
    target('drainPerSecond: 0.5', 'maxInFlight: 4', 'breaker: { failures: 0, open: 2s }'),
  );
  expect(changed.changes[0]?.fields.map(({ field }) => field).sort()).toEqual([
    ...['flow.breakerFailures', 'flow.breakerOpenMs', 'flow.drainPerSecond', 'flow.maxInFlight'],
  ]);
  expect(await row()).toEqual({ drains: 0.5, room: 4, failures: 0, open: 2_000 });
});
